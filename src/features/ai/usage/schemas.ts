import { z } from 'zod'

/** `GET /api/dashboard/cost?period=`. */
export const CostQuery = z.object({
  period: z.enum(['7d', '30d', 'mtd'], 'period must be 7d, 30d or mtd').default('7d'),
})
export type CostQuery = z.infer<typeof CostQuery>

const MAX_DAYS = 366
const badDays = `days must be a whole number from 1 to ${MAX_DAYS}`
const Days = (usual: number) =>
  z.coerce.number(badDays).int(badDays).min(1, badDays).max(MAX_DAYS, badDays).default(usual)

/** `?days=`, today included: by default a month, or a week. */
export const MonthQuery = z.object({ days: Days(30) })
export const WeekQuery = z.object({ days: Days(7) })
export const ToolQuery = WeekQuery.extend({ agentId: z.string().min(1).max(255).optional() })

const badEvents = 'events must be a list of 1 to 100 tool events'
const Word = (name: string) => z.string(`${name} must be text`).max(255, `${name} is too long`)
/** `POST /v1/tool-events`: an agent's report of its tool uses. */
export const ToolEventRequest = z.object({
  events: z
    .array(
      z.object({
        session_id: Word('session_id').nullish(),
        tool_name: Word('tool_name').min(1, 'tool_name is required'),
        success: z.boolean('success must be true or false'),
        duration_ms: z.number('duration_ms must be a number').min(0).transform(Math.round).nullish(),
      }),
      badEvents,
    )
    .min(1, badEvents)
    .max(100, badEvents),
})
export type ToolEventRequest = z.infer<typeof ToolEventRequest>

/**
 * Costs are US dollars, null when unknown; tokens are input plus output. `unpricedCalls` counts calls without a known price.
 * `ownKeyCost` is the part of `totalCost` that the user's own provider keys paid. No provider reported the estimated parts.
 */
export const CostDashboard = z.object({
  period: CostQuery.shape.period.unwrap(),
  summary: z.object({
    totalCost: z.number().nullable(),
    ownKeyCost: z.number().optional(),
    totalTokens: z.number(),
    /** Share of the input tokens that came from a prompt cache of the provider; absent when none did. */
    cacheHitRate: z.number().optional(),
    totalCalls: z.number(),
    unpricedCalls: z.number().optional(),
    avgCostPerCall: z.number().nullable(),
    estimatedCost: z.number(),
    estimatedTokens: z.number(),
  }),
  agents: z.array(
    z.object({
      name: z.string(),
      tokens: z.number(),
      cost: z.number().nullable(),
      calls: z.number(),
      unpricedCalls: z.number().optional(),
      avgCostPerCall: z.number().nullable(),
      estimatedTokens: z.number(),
      model: z.string(),
    }),
  ),
  daily: z.array(
    z.object({
      date: z.string(),
      cost: z.number().nullable(),
      tokens: z.number(),
      unpricedCalls: z.number().optional(),
    }),
  ),
  modelBreakdown: z.array(
    z.object({
      model: z.string(),
      percent: z.number(),
      cost: z.number().nullable(),
      unpricedCalls: z.number().optional(),
    }),
  ),
  isMockData: z.boolean(),
  message: z.string().optional(),
})
export type CostDashboard = z.infer<typeof CostDashboard>

/** Tokens and US dollars; `unpriced_calls` are missing from `cost_usd`, which is null when no cost is known. */
const TokenSums = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  total_tokens: z.number(),
  cost_usd: z.number().nullable(),
  unpriced_calls: z.number().optional(),
  estimated_tokens: z.number(),
  estimated_cost_usd: z.number(),
})
const ModelSums = TokenSums.extend({ model: z.string(), provider: z.string() })

/** `GET /api/usage/by-agent/:agentId`: `events` are calls. */
export const UsageOfAgent = z.array(ModelSums.extend({ events: z.number() }))
export type UsageOfAgent = z.infer<typeof UsageOfAgent>

/** `GET /api/usage/by-model`: `turns` are calls; the most expensive first. */
export const UsageByModel = z.array(ModelSums.extend({ turns: z.number() }))
export type UsageByModel = z.infer<typeof UsageByModel>

/** `GET /api/usage/daily`: days (UTC) that have any, oldest first. */
export const DailyUsage = z.array(
  TokenSums.omit({ input_tokens: true, output_tokens: true }).extend({ date: z.string(), turns: z.number() }),
)
export type DailyUsage = z.infer<typeof DailyUsage>

/** `GET /api/usage/tools`: `avg_ms` is null while no call was timed. */
export const ToolUsage = z.array(
  z.object({ tool_name: z.string(), calls: z.number(), successes: z.number(), avg_ms: z.number().nullable() }),
)
export type ToolUsage = z.infer<typeof ToolUsage>

/** `GET /api/usage/by-day?days=30`: usage by day (UTC), agent or key, and model. Without an agent `agentId` is `direct`. */
export const UsageByDay = z.object({
  days: z.array(z.string()),
  rows: z.array(
    z.object({
      day: z.string(),
      agentId: z.string(),
      agentName: z.string().nullable(),
      keyId: z.string().nullable(),
      keyName: z.string().nullable(),
      model: z.string(),
      calls: z.number(),
      tokens: z.number(),
      costUsd: z.number().nullable(),
      unpricedCalls: z.number().optional(),
    }),
  ),
})
export type UsageByDay = z.infer<typeof UsageByDay>

/** Usage of a key by model and day (UTC), oldest first. */
export const KeyDays = z.object({
  days: z.array(z.string()),
  rows: z.array(
    z.object({
      day: z.string(),
      model: z.string(),
      calls: z.number(),
      tokens: z.number(),
      costUsd: z.number().nullable(),
      unpricedCalls: z.number().optional(),
    }),
  ),
})
export type KeyDays = z.infer<typeof KeyDays>

const badLimit = 'limit must be a whole number from 1 to 100'
const badBefore = 'before must be the id of a call'
const Id = z.string().min(1).max(255).optional()
/** `GET /api/usage/calls`: filters, and the call `before` which the page starts. `generationId` is the `x-generation-id` of an answer. */
export const CallQuery = z.object({
  agentId: Id,
  model: Id,
  keyId: Id,
  generationId: Id,
  status: z.enum(['succeeded', 'failed'], 'status must be succeeded or failed').optional(),
  before: z.coerce.number(badBefore).int(badBefore).positive(badBefore).optional(),
  limit: z.coerce.number(badLimit).int(badLimit).min(1, badLimit).max(100, badLimit).default(50),
})
export type CallQuery = z.infer<typeof CallQuery>

/** One model call. `costUsd` is null when unknown. `isEstimated`: no provider reported the usage. `attempts` counts all providers tried. */
export const ModelCall = z.object({
  id: z.number(),
  generationId: z.string().nullable(),
  at: z.string(),
  agentId: z.string(),
  agentName: z.string().nullable(),
  keyId: z.string().nullable(),
  keyName: z.string().nullable(),
  model: z.string(),
  provider: z.string(),
  endpoint: z.string().nullable(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  costUsd: z.number().nullable(),
  latencyMs: z.number().nullable(),
  attempts: z.number(),
  succeeded: z.boolean(),
  error: z.string().nullable(),
  isOwnKey: z.boolean(),
  isEstimated: z.boolean(),
})
export type ModelCall = z.infer<typeof ModelCall>

/** Newest first; `nextBefore` is the `before` of the next page, null at the end. */
export const CallList = z.object({ calls: z.array(ModelCall), nextBefore: z.number().nullable() })
export type CallList = z.infer<typeof CallList>
