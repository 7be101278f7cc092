import { z } from 'zod'

const badLimit = 'limit must be a whole number from 1 to 1000'
const badBefore = 'before must be the id of a line'

/** `GET /api/logs/:agentId/history`: without any of these the last 500 lines. `q` is searched for as it is, in any case. */
export const LogHistoryQuery = z.object({
  q: z.string().max(200, 'q is too long').optional(),
  before: z.coerce.number(badBefore).int(badBefore).positive(badBefore).optional(),
  limit: z.coerce.number(badLimit).int(badLimit).min(1, badLimit).max(1000, badLimit).optional(),
})
export type LogHistoryQuery = z.infer<typeof LogHistoryQuery>

/** A stored line; `platform` lines are ours and say what was dropped. */
export const LogEntry = z.object({
  id: z.number(),
  at: z.string(),
  stream: z.enum(['stdout', 'stderr', 'platform']),
  text: z.string(),
})
export type LogEntry = z.infer<typeof LogEntry>

/**
 * The answer. `streaming` says whether anybody follows the agent, or did in the last 30 s. A question with a query is
 * answered with `entries` too, and with the `before` of the page above it, null when there is none.
 */
export const LogHistory = z.object({
  agentId: z.string(),
  lines: z.array(z.string()),
  streaming: z.boolean(),
  clients: z.number(),
  entries: z.array(LogEntry).optional(),
  nextBefore: z.number().nullable().optional(),
})
export type LogHistory = z.infer<typeof LogHistory>

const badAfter = 'after must be the id of a line'

/**
 * `GET /api/logs/:agentId/stream`: with `detail=true` a line tells when it was written and where, an exit when it was; with
 * `after` it begins behind that line, for who left a stream and comes back. `Last-Event-ID` goes before.
 */
export const LogStreamQuery = z.object({
  detail: z.enum(['true', 'false'], 'detail must be true or false').optional(),
  after: z.coerce.number(badAfter).int(badAfter).positive(badAfter).optional(),
})
export type LogStreamQuery = z.infer<typeof LogStreamQuery>

/**
 * The data of a `line` event; lines and exits have ids to come back with. `code` is null when nobody saw it. `at` (ISO
 * 8601) and `stream` are there when they were asked for.
 */
export const LogEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('connected'), agentId: z.string() }),
  z.object({
    type: z.literal('line'),
    text: z.string(),
    at: z.string().optional(),
    stream: LogEntry.shape.stream.optional(),
  }),
  z.object({ type: z.literal('exit'), code: z.number().nullable(), at: z.string().optional() }),
])
export type LogEvent = z.infer<typeof LogEvent>

/** `GET /api/logs/active`: who is followed, by how many, and how many lines there are to see. */
export const ActiveLogs = z.object({
  streams: z.array(z.object({ agentId: z.string(), clients: z.number(), lines: z.number() })),
})
export type ActiveLogs = z.infer<typeof ActiveLogs>
