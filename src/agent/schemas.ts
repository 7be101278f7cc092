import { z } from 'zod'

const MAX_SESSION_KEY_CHARS = 256

const TextPart = z.object(
  { type: z.literal('text', { error: 'Only text content is supported' }), text: z.string() },
  { error: 'Only text content is supported' },
)
const Content = z.union(
  [z.string(), z.array(TextPart).transform((parts) => parts.map((part) => part.text).join('\n'))],
  { error: 'Message content must be text' },
)

const Message = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant'], {
    error: 'Message role must be system, developer, user or assistant: an agent runs its own tools',
  }),
  content: Content.nullish().transform((text) => text ?? ''),
  /** Workspace paths of images sent with the message. */
  images: z.array(z.string().max(512)).max(8).optional(),
})

export const SessionKey = z
  .string()
  .min(1, 'The session key is empty')
  .max(MAX_SESSION_KEY_CHARS, `A session key has at most ${MAX_SESSION_KEY_CHARS} characters`)

/** A caller-chosen id, with which the turn runs only once. */
export const TurnId = z.string().regex(/^[\w-]{1,64}$/, 'A turn id is 1 to 64 letters, digits, - and _')

/**
 * Chat completion request in the OpenAI format. `model`, `tools` and sampling settings are ignored: the agent chooses
 * them.
 */
export const AgentCompletionRequest = z.object({
  messages: z
    .array(Message, { error: 'messages must be a list' })
    .min(1, 'messages is empty')
    .refine((messages) => endsWithUser(messages), 'The last message must be a user message with text'),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().optional() }).nullish(),
  user: SessionKey.nullish(),
  n: z.literal(1, { error: 'n must be 1' }).nullish(),
})
export type AgentCompletionRequest = z.infer<typeof AgentCompletionRequest>
export type CompletionMessage = z.infer<typeof Message>

export const WriteInstructionsRequest = z.object({ text: z.string('text must be text') })

export const HistoryQuery = z.object({ limit: z.coerce.number().int().min(1).max(500).default(50) })

export const DecidePairingRequest = z.object({ approve: z.boolean() })

/** Requires the last message other than instructions to be a user message with text. */
function endsWithUser(messages: CompletionMessage[]): boolean {
  const last = messages.findLast((message) => message.role === 'user' || message.role === 'assistant')
  return last?.role === 'user' && last.content.trim() !== ''
}

/** Body of `POST /mcp-servers/:name/call`. */
export const McpUseRequest = z.object({
  tool: z.string().min(1).max(1000),
  arguments: z.record(z.string(), z.unknown()).default({}),
})
