import { z } from 'zod'
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
