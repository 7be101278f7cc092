import { z } from 'zod'
import { PageLimit } from '../../../core/page-limit.ts'

/** Query of `GET /api/inbox`: `before` is the id of the oldest known mail. */
export const InboxQuery = z.object({
  agentId: z.string().max(100).optional(),
  limit: PageLimit,
  before: z.string().max(100).optional(),
})
export type InboxQuery = z.infer<typeof InboxQuery>

/**
 * A `queued` mail waits for its agent to run; `failed` was given up; `reply` is the agent's answer. `answer` is the
 * delivery of that reply: `withheld` has its reason in `error`; null for an agent that answers no mail.
 */
export const InboxMessage = z.object({
  id: z.string(),
  agentId: z.string(),
  from: z.string(),
  subject: z.string(),
  text: z.string(),
  status: z.enum(['queued', 'delivered', 'failed']),
  reply: z.string().nullable(),
  error: z.string().nullable(),
  receivedAt: z.string(),
  deliveredAt: z.string().nullable(),
  files: z.array(z.object({ name: z.string(), path: z.string().nullable(), problem: z.string().nullable() })),
  answer: z
    .object({
      status: z.enum(['queued', 'sent', 'withheld', 'failed']),
      error: z.string().nullable(),
      sentAt: z.string().nullable(),
    })
    .nullable(),
})
export type InboxMessage = z.infer<typeof InboxMessage>

/** Newest first. */
export const Inbox = z.object({ messages: z.array(InboxMessage), count: z.number(), hasMore: z.boolean() })
export type Inbox = z.infer<typeof Inbox>
