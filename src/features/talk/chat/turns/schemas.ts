import { z } from 'zod'

/** `running` goes on, whoever listens; `stopped` was cut short on purpose; `failed` has its reason in `error`. */
export const TurnState = z.enum(['running', 'done', 'stopped', 'failed'])

/**
 * The answering of one message. `text` is what the agent has said so far and `position` the place behind it: an event id, for
 * going on from there. Once it has ended, `replyId` names the agent's message, if it said anything.
 */
export const ChatTurn = z.object({
  id: z.string(),
  agentId: z.string(),
  sessionId: z.string().nullable(),
  questionId: z.string(),
  replyId: z.string().nullable(),
  state: TurnState,
  error: z.string().nullable(),
  message: z.string(),
  text: z.string(),
  position: z.number(),
  createdAt: z.string(),
  finishedAt: z.string().nullable(),
})
export type ChatTurn = z.infer<typeof ChatTurn>

/** `GET /api/chat/turns?agentId=`: those that are running, oldest first. */
export const TurnQuery = z.object({ agentId: z.string().max(100).optional() })
export type TurnQuery = z.infer<typeof TurnQuery>
export const TurnList = z.object({ turns: z.array(ChatTurn) })

/** `GET /api/chat/turns/:id/events?after=`: the position behind which to begin; `Last-Event-ID` goes before it. */
export const TurnEventsQuery = z.object({
  after: z.coerce
    .number('after must be a number')
    .int('after must be a whole number')
    .min(0, 'after must be at least 0')
    .default(0),
})

/** The data of the events `stopped` and `failed` of a stream. */
export const TurnOver = z.object({
  turnId: z.string(),
  error: z.string(),
  reply: z.string(),
  code: z.string().optional(),
})
export type TurnOver = z.infer<typeof TurnOver>
