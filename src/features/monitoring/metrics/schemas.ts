import { z } from 'zod'
import { AgentStatus } from '../../agents/registry/schemas.ts'

const Measured = z.number().nullable()

/** `GET /api/metrics/:userId/historical`. */
export const HistoricalQuery = z.object({
  range: z.enum(['24h', '7d', '30d'], 'range must be 24h, 7d or 30d').default('24h'),
})
export type HistoricalQuery = z.infer<typeof HistoricalQuery>

/**
 * One hour over all agents of the user: CPU in percent of a core, memory in percent of the limit; null when not
 * measured.
 */
export const MetricPoint = z.object({
  timestamp: z.string(),
  cpu: Measured,
  memory: Measured,
  messages: z.number(),
  errors: z.number(),
})
export type MetricPoint = z.infer<typeof MetricPoint>

/** Hours without data are omitted; averages are rounded. */
export const HistoricalMetrics = z.object({
  userId: z.string(),
  timeRange: z.enum(['24h', '7d', '30d']),
  metrics: z.array(MetricPoint),
  averages: z.object({ cpu: Measured, memory: Measured, messages: Measured, errors: Measured }),
})
export type HistoricalMetrics = z.infer<typeof HistoricalMetrics>

/** Current load and the last 24 hours: percentages, `responseTime` in ms. Null when not measured. */
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

/** Resource usage as text in the format of container engines; `N/A` when not measured. */
export const ShownUse = z.object({
  agentId: z.string(),
  cpu: z.string(),
  memory: z.string(),
  memoryPercent: z.string(),
  network: z.string(),
  pids: z.string(),
  uptimeFormatted: z.string(),
  timestamp: z.string(),
})

/** `GET /api/agents/:id/stats`: `averageResponseTime` and `uptime` in ms; `N/A` or null when not measured. */
export const AgentStatsResponse = z.object({
  stats: ShownUse.extend({
    status: AgentStatus,
    health: z.enum(['stopped', 'starting', 'healthy', 'unhealthy']),
    uptime: Measured,
    messagesProcessed: z.number(),
    messagesFailed: z.number(),
    messagesPerHour: z.number(),
    averageResponseTime: z.union([z.number(), z.literal('N/A')]),
    successRate: z.string(),
    errorRate: z.string(),
  }),
  status: z.literal('ok'),
})
export type AgentStatsResponse = z.infer<typeof AgentStatsResponse>

/** `GET /api/metrics/:userId/summary`: fields that the platform does not record are null. */
export const MetricsSummary = z.object({
  revenue: z.object({ month: z.string(), total: z.string(), change: z.string().nullable() }),
  bookings: z.object({ completed: z.number(), pending: z.number(), conversion: z.string() }),
  fans: z.object({
    total: z.null(),
    active: z.null(),
    growth: z.null(),
    segmentation: z.object({ superfans: z.null(), casual: z.null(), new: z.null() }),
  }),
  streams: z.object({ monthlyListeners: z.null(), monthlyStreams: z.null(), growth: z.null() }),
  skills: z.object({ active: z.number(), total: z.number(), growth: z.string().nullable() }),
  degraded: z.array(z.string()),
  detail: z.string(),
})
export type MetricsSummary = z.infer<typeof MetricsSummary>

/** `GET /api/agents/:id/metrics`. */
export const AgentHistoryQuery = z.object({
  range: z.enum(['1h', '24h', '7d', '30d'], 'range must be 1h, 24h, 7d or 30d').default('24h'),
})
export type AgentHistoryQuery = z.infer<typeof AgentHistoryQuery>

/**
 * Messages received, messages without a reply, and model usage. `costUsd` excludes `unpricedCalls` and is null when no
 * cost is known.
 */
const AgentUse = z.object({
  messages: z.number(),
  failed: z.number(),
  calls: z.number(),
  tokens: z.number(),
  costUsd: z.number().nullable(),
  unpricedCalls: z.number().optional(),
})

/**
 * History of one agent in intervals of `loadSeconds` and `useSeconds`, oldest first, each with its start. CPU in
 * percent of a core, memory in percent of the limit; null when not measured.
 */
export const AgentHistory = z.object({
  range: AgentHistoryQuery.shape.range.unwrap(),
  loadSeconds: z.number(),
  useSeconds: z.number(),
  load: z.array(z.object({ at: z.string(), cpu: Measured, memory: Measured })),
  use: z.array(AgentUse.extend({ at: z.string() })),
  totals: AgentUse,
})
export type AgentHistory = z.infer<typeof AgentHistory>
