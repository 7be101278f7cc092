import { z } from 'zod'
import { CallUsage } from '../gateway/schemas.ts'

const MAX_ENTRIES = 20
const MAX_ENTRY_CHARACTERS = 4000
const badConversation = 'conversation must be a list of {role, content}'

/**
 * `POST /api/demo/chat`. Keeps the newest 20 user messages, each cut at 4000 characters; messages of other roles are
 * dropped so that a visitor cannot forge answers of the model.
 */
export const DemoChatRequest = z.object({
  message: z
    .string('Message required')
    .trim()
    .min(1, 'Message required')
    .transform((text) => text.slice(0, MAX_ENTRY_CHARACTERS)),
  model: z.string('model must be text').max(200, 'model is too long').optional(),
  mode: z.string('mode must be text').max(40, 'mode is too long').optional(),
  conversation: z
    .array(
      z.object({ role: z.string(badConversation), content: z.string(badConversation) }, badConversation),
      badConversation,
    )
    .default([])
    .transform((entries) =>
      entries
        .filter(({ role }) => role === 'user')
        .slice(-MAX_ENTRIES)
        .map(({ content }) => content.slice(0, MAX_ENTRY_CHARACTERS)),
    ),
})
export type DemoChatRequest = z.infer<typeof DemoChatRequest>

/** `GET /api/demo/chat`: the models of the demo; the first available one is the default. */
export const DemoModels = z.object({
  models: z.array(z.object({ id: z.string(), name: z.string(), provider: z.string(), available: z.boolean() })),
  mode: z.string(),
  message: z.string(),
})

/** `POST /api/demo/chat`. */
export const DemoReply = z.object({
  id: z.string(),
  model: z.string(),
  message: z.string(),
  usage: CallUsage,
  done: z.literal(true),
})
