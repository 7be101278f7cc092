import { z } from 'zod'

const Measured = z.number().nullable()

/** `GET /api/metrics/:userId/historical`. */
export const HistoricalQuery = z.object({
  range: z.enum(['24h', '7d', '30d'], 'range must be 24h, 7d or 30d').default('24h'),
})
export type HistoricalQuery = z.infer<typeof HistoricalQuery>

/** One hour, over all agents of the user: CPU in percent of a core, memory in percent of the limit; null: not measured. */
export const MetricPoint = z.object({
  timestamp: z.string(),
  cpu: Measured,
  memory: Measured,
  messages: z.number(),
  errors: z.number(),
})
export type MetricPoint = z.infer<typeof MetricPoint>

/** Hours in which nothing was measured or said are left out; averages are whole numbers. */
export const HistoricalMetrics = z.object({
  userId: z.string(),
  timeRange: z.enum(['24h', '7d', '30d']),
  metrics: z.array(MetricPoint),
  averages: z.object({ cpu: Measured, memory: Measured, messages: Measured, errors: Measured }),
})
export type HistoricalMetrics = z.infer<typeof HistoricalMetrics>

/** Now and in the last 24 h: percentages, `responseTime` in ms. Null where nothing was measured. */
export const PerformanceMetrics = z.object({
  cpu: Measured,
  memory: Measured,
  errorRate: Measured,
  responseTime: Measured,
})
export type PerformanceMetrics = z.infer<typeof PerformanceMetrics>

/** `GET /api/metrics`: percentages, `averageResponseTime` in ms, storage in MB of the platform's disk. */
export const PlatformMetrics = z.object({
  metrics: z.object({
    agents: z.object({ total: z.number(), active: z.number(), inactive: z.number(), failed: z.number() }),
    messages: z.object({ today: z.number(), thisWeek: z.number(), thisMonth: z.number() }),
    deployments: z.object({ total: z.number(), successful: z.number(), failed: z.number() }),
    uptime: z.object({ platformUptime: Measured, averageAgentUptime: Measured }),
    performance: z.object({
      averageResponseTime: Measured,
      successRate: Measured,
      errorRate: Measured,
      cpu: Measured,
      memory: Measured,
    }),
    storage: z.object({ used: z.number(), total: z.number(), percentUsed: z.number() }),
  }),
  timestamp: z.string(),
  status: z.literal('ok'),
  plan: z.string().nullable(),
})
export type PlatformMetrics = z.infer<typeof PlatformMetrics>
