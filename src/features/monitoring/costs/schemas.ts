import { z } from 'zod'

/**
 * `GET /api/usage/anomalies`. `anomalies`: agents whose cost today (UTC) is more than 3 times their median of the 7 days
 * before. `idle`: the cost of agents in the last 7 days, and the part of it in hours without a message to the agent.
 */
export const CostAnomalies = z.object({
  day: z.string(),
  anomalies: z.array(
    z.object({
      agentId: z.string(),
      agentName: z.string().nullable(),
      costUsd: z.number(),
      medianUsd: z.number(),
      factor: z.number(),
    }),
  ),
  idle: z.array(
    z.object({
      agentId: z.string(),
      agentName: z.string().nullable(),
      costUsd: z.number(),
      idleCostUsd: z.number(),
      idleCalls: z.number(),
    }),
  ),
})
export type CostAnomalies = z.infer<typeof CostAnomalies>

const Compared = { calls: z.number(), reportedUsd: z.number(), listUsd: z.number(), gapUsd: z.number() }
/**
 * `GET /api/usage/reconciliation`: costs that providers reported for calls, and the cost of the same calls by list
 * prices. `gapUsd` is positive when the provider charged more.
 */
export const Reconciliation = z.object({
  total: z.object(Compared),
  models: z.array(z.object({ model: z.string(), provider: z.string(), ...Compared })),
})
export type Reconciliation = z.infer<typeof Reconciliation>
