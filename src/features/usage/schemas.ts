import { z } from 'zod'

/** `GET /api/dashboard/cost?period=` (Spec 4.10). */
export const CostQuery = z.object({
  period: z.enum(['7d', '30d', 'mtd'], 'period must be 7d, 30d or mtd').default('7d'),
})
export type CostQuery = z.infer<typeof CostQuery>

/** Costs are US dollars, tokens are input plus output. */
export const CostDashboard = z.object({
  period: CostQuery.shape.period.unwrap(),
  summary: z.object({
    totalCost: z.number(),
    totalTokens: z.number(),
    totalCalls: z.number(),
    avgCostPerCall: z.number(),
  }),
  agents: z.array(
    z.object({
      name: z.string(),
      tokens: z.number(),
      cost: z.number(),
      calls: z.number(),
      avgCostPerCall: z.number(),
      model: z.string(),
    }),
  ),
  daily: z.array(z.object({ date: z.string(), cost: z.number(), tokens: z.number() })),
  modelBreakdown: z.array(z.object({ model: z.string(), percent: z.number(), cost: z.number() })),
  isMockData: z.boolean(),
  message: z.string().optional(),
})
export type CostDashboard = z.infer<typeof CostDashboard>
