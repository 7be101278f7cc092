import { z } from 'zod'

const badLimit = 'limit must be a whole number from 1 to 1000'
const badBefore = 'before must be the id of a line'

/**
 * `GET /api/logs/:agentId/history`: without parameters the last 500 lines. `q` is a literal, case-insensitive search.
 */
export const LogHistoryQuery = z.object({
  q: z.string().max(200, 'q is too long').optional(),
  before: z.coerce.number(badBefore).int(badBefore).positive(badBefore).optional(),
  limit: z.coerce.number(badLimit).int(badLimit).min(1, badLimit).max(1000, badLimit).optional(),
})
export type LogHistoryQuery = z.infer<typeof LogHistoryQuery>

/** A stored line; `platform` lines report dropped output. */
export const AgentLogEntry = z.object({
  id: z.number(),
  at: z.string(),
  stream: z.enum(['stdout', 'stderr', 'platform']),
  text: z.string(),
})
export type AgentLogEntry = z.infer<typeof AgentLogEntry>

/**
 * `streaming` is true while a client follows the agent and 30 s longer. With query parameters the response has
 * `entries`, and in `nextBefore` the `before` of the previous page, null on the first one.
 */
export const LogHistory = z.object({
  agentId: z.string(),
  lines: z.array(z.string()),
  streaming: z.boolean(),
  clients: z.number(),
  entries: z.array(AgentLogEntry).optional(),
  nextBefore: z.number().nullable().optional(),
})
export type LogHistory = z.infer<typeof LogHistory>

const badAfter = 'after must be the id of a line'

/**
 * `GET /api/logs/:agentId/stream`: `detail=true` adds time and stream; `after` resumes behind that line.
 * `Last-Event-ID` overrides `after`.
 */
export const LogStreamQuery = z.object({
  detail: z.enum(['true', 'false'], 'detail must be true or false').optional(),
  after: z.coerce.number(badAfter).int(badAfter).positive(badAfter).optional(),
})
export type LogStreamQuery = z.infer<typeof LogStreamQuery>

/**
 * Data of a `line` event. `code` is null when the exit code is unknown; `at` (ISO 8601) and `stream` come with
 * `detail=true`.
 */
export const LogEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('connected'), agentId: z.string() }),
  z.object({
    type: z.literal('line'),
    text: z.string(),
    at: z.string().optional(),
    stream: AgentLogEntry.shape.stream.optional(),
  }),
  z.object({ type: z.literal('exit'), code: z.number().nullable(), at: z.string().optional() }),
])
export type LogEvent = z.infer<typeof LogEvent>

/** `GET /api/logs/active`: the followed agents, with their clients and stored lines. */
export const ActiveLogs = z.object({
  streams: z.array(z.object({ agentId: z.string(), clients: z.number(), lines: z.number() })),
})
export type ActiveLogs = z.infer<typeof ActiveLogs>
