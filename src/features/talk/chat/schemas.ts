import { z } from 'zod'

/** `POST /api/chat`. Without `agentId` the caller's newest running agent answers; `stream` asks for server-sent events. */
export const SendMessageRequest = z.object({
  message: z
    .string('Message required')
    .trim()
    .min(1, 'Message required')
    .max(100_000, 'Message must be at most 100000 characters'),
  topic: z.string('topic must be text').trim().max(200, 'topic must be at most 200 characters').optional(),
  agentId: z.string('agentId must be text').max(100, 'agentId must be at most 100 characters').optional(),
  stream: z.boolean('stream must be true or false').optional(),
})
export type SendMessageRequest = z.infer<typeof SendMessageRequest>

/** The answer to a message; also the data of the `done` event of a stream. */
export const SentMessage = z.object({
  id: z.string(),
  agentId: z.string(),
  message: z.string(),
  topic: z.string().nullable(),
  status: z.literal('sent'),
  timestamp: z.string(),
  reply: z.string(),
})
export type SentMessage = z.infer<typeof SentMessage>

/** The data of a `delta` event of a stream. */
export const ReplyDelta = z.object({ text: z.string() })
export type ReplyDelta = z.infer<typeof ReplyDelta>

/** `GET /api/chat?agentId=&limit=&before=`: `before` is the id of the oldest message already known. */
export const MessageQuery = z.object({
  agentId: z.string().max(100).optional(),
  limit: z.coerce
    .number('limit must be a number')
    .int('limit must be a whole number')
    .min(1, 'limit must be at least 1')
    .max(100, 'limit must be at most 100')
    .default(50),
  before: z.string().max(100).optional(),
})
export type MessageQuery = z.infer<typeof MessageQuery>

/**
 * One line of a conversation; `failed` marks a message that got no whole reply, and what there is of one; `stopped` what was
 * cut short on purpose.
 */
export const ChatMessage = z.object({
  id: z.string(),
  agentId: z.string(),
  sender: z.enum(['user', 'agent']),
  content: z.string(),
  topic: z.string().nullable(),
  status: z.enum(['sent', 'stopped', 'failed']),
  timestamp: z.string(),
})
export type ChatMessage = z.infer<typeof ChatMessage>

/** Oldest first. `hasMore` tells that older messages exist before the first one. */
export const MessageList = z.object({ messages: z.array(ChatMessage), count: z.number(), hasMore: z.boolean() })
export type MessageList = z.infer<typeof MessageList>
