import { z } from 'zod'

/** `GET /api/usage/by-agent/:agentId`. */
export const BackendUsageByAgentAnswer = z.array(
  z.object({
    events: z.number(),
    input_tokens: z.number(),
    output_tokens: z.number(),
    total_tokens: z.number(),
    cost_usd: z.number(),
    estimated_tokens: z.number(),
    estimated_cost_usd: z.number(),
    model: z.string(),
    provider: z.string(),
  }),
)

/** `GET /api/usage/by-model`. */
export const BackendUsageByModelAnswer = z.array(
  z.object({
    turns: z.number(),
    input_tokens: z.number(),
    output_tokens: z.number(),
    total_tokens: z.number(),
    cost_usd: z.number(),
    estimated_tokens: z.number(),
    estimated_cost_usd: z.number(),
    model: z.string(),
    provider: z.string(),
  }),
)

/** `GET /api/usage/daily`. */
export const BackendUsageDailyAnswer = z.array(
  z.object({
    turns: z.number(),
    total_tokens: z.number(),
    cost_usd: z.number(),
    estimated_tokens: z.number(),
    estimated_cost_usd: z.number(),
    date: z.string(),
  }),
)

/** `GET /api/usage/tools`. */
export const BackendUsageToolsAnswer = z.array(
  z.object({ tool_name: z.string(), calls: z.number(), successes: z.number(), avg_ms: z.number().nullable() }),
)
