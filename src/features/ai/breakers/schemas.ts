import { z } from 'zod'
import { LIMIT_ACTIONS } from '../../../core/agents/day-limits.ts'
import { MAX_MICRO_USD, toMicroUsd } from '../../../core/money.ts'

const badTokens = 'tokensPerDay must be a whole number of at least 1, or null'
const badCost = 'costUsdPerDay must be a number of at least 0.01, or null'

/** The daily model usage (UTC) of an agent; null removes a limit, a field that is left out stays unchanged. */
export const Caps = z.object({
  tokensPerDay: z.int(badTokens).min(1, badTokens).nullable(),
  costUsdPerDay: z
    .number(badCost)
    .min(0.01, badCost)
    .refine((usd) => toMicroUsd(usd) <= MAX_MICRO_USD, badCost)
    .nullable(),
})
export type Caps = z.infer<typeof Caps>

/** `PUT /api/agents/:id/breaker`. */
export const ChangeCapsRequest = z
  .object(Caps.partial().shape)
  .refine((change) => Object.values(change).some((value) => value !== undefined), { error: 'Nothing to change' })
export type ChangeCapsRequest = z.infer<typeof ChangeCapsRequest>

const Reason = z.string('reason must be text').trim().max(200, 'reason too long (max 200 chars)')

/** `POST /api/agents/:id/pause`. */
export const PauseRequest = z.object({ reason: Reason.optional() })
export type PauseRequest = z.infer<typeof PauseRequest>

/** `PUT /api/pause` and `PUT /api/admin/pause`. */
export const PauseAllRequest = z.object({
  paused: z.boolean('paused must be true or false'),
  reason: Reason.optional(),
})
export type PauseAllRequest = z.infer<typeof PauseAllRequest>

/** Scope, reason and start (ISO 8601) of the widest pause. */
export const Pause = z.object({ scope: z.enum(['agent', 'owner', 'platform']), reason: z.string(), since: z.string() })
export type Pause = z.infer<typeof Pause>

/** Caps and pause of an agent, and its usage today (UTC). */
export const Breaker = z.object({
  agentId: z.string(),
  caps: Caps,
  usedToday: z.object({ tokens: z.number(), costUsd: z.number().nullable(), unpricedCalls: z.number().optional() }),
  resetsAt: z.string(),
  pause: Pause.nullable(),
})
export type Breaker = z.infer<typeof Breaker>

/** Pause of all agents of an owner or of the installation. */
export const PauseState = z.object({ pause: Pause.nullable() })
export type PauseState = z.infer<typeof PauseState>

const Action = z.enum(LIMIT_ACTIONS, `action must be one of ${LIMIT_ACTIONS.join(', ')}`)
const MAX_COUNT = 1_000_000_000
const badUsd = 'limit of usd must be a number of at least 0.01, or null'
const badCount = 'limit must be a whole number of at least 0, or null'
const Usd = z
  .number(badUsd)
  .min(0.01, badUsd)
  .refine((usd) => toMicroUsd(usd) <= MAX_MICRO_USD, badUsd)
const Count = z.int(badCount).min(0, badCount).max(MAX_COUNT, badCount)
const change = <Limit extends z.ZodType>(limit: Limit) =>
  z.object({ limit: limit.nullable(), action: Action }).partial().optional()

/** `PUT /api/agents/:id/limits`: limits a day; null removes one, a field that is left out stays unchanged. */
export const ChangeLimitsRequest = z
  .object({
    usd: change(Usd),
    tokens: change(Count.min(1, badCount)),
    messages: change(Count),
    toolCalls: change(Count),
    files: change(Count),
  })
  .meta({ examples: [{ usd: { limit: 2, action: 'ask' }, messages: { limit: 50, action: 'pause' } }] })
export type ChangeLimitsRequest = z.infer<typeof ChangeLimitsRequest>

const DayLimit = z.object({
  limit: z.number().nullable(),
  action: Action,
  used: z.number(),
  extra: z.number(),
  reached: z.boolean(),
  enforced: z.boolean(),
})
export type DayLimit = z.infer<typeof DayLimit>

/**
 * Limits of an agent a day, in the time zone of its owner, with what it has used today. `extra` is what the owner has
 * allowed beyond the limit today. `enforced` is false where the program of the agent does not report what it does.
 * `unpricedCalls` have no known cost, and are missing from `usd`.
 */
export const DayLimits = z.object({
  agentId: z.string(),
  timeZone: z.string(),
  day: z.string(),
  resetsAt: z.iso.datetime(),
  unpricedCalls: z.number(),
  limits: z.object({ usd: DayLimit, tokens: DayLimit, messages: DayLimit, toolCalls: DayLimit, files: DayLimit }),
})
export type DayLimits = z.infer<typeof DayLimits>

/** `POST /v1/limits/use`: the next action of an agent. */
export const UseLimitsRequest = z.object({
  kinds: z
    .array(z.enum(['messages', 'toolCalls', 'files']), 'kinds must be a list')
    .min(1, 'kinds must not be empty')
    .max(3, 'kinds must not repeat')
    .transform((kinds) => [...new Set(kinds)]),
})

/** The answer to an agent that counts. `approvalId` is the question to its owner, which the agent may wait for. */
export const UsedLimits = z.object({
  allowed: z.boolean(),
  message: z.string().nullable(),
  approvalId: z.string().nullable(),
})
export type UsedLimits = z.infer<typeof UsedLimits>
