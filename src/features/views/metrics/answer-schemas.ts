import { z } from 'zod'
import { AgentStatus } from '../../agents/registry/schemas.ts'

/** `GET /api/agents/:id/stats`. */
export const AgentStatsAnswer = z.object({
  stats: z.object({
    timestamp: z.string(),
    messagesProcessed: z.number(),
    messagesFailed: z.number(),
    messagesPerHour: z.number(),
    averageResponseTime: z.union([z.string(), z.number()]),
    successRate: z.string(),
    errorRate: z.string(),
    status: AgentStatus,
    health: z.enum(['stopped', 'starting', 'healthy', 'unhealthy']),
    uptime: z.number().nullable(),
    uptimeFormatted: z.string(),
    cpu: z.string(),
    memory: z.string(),
    memoryPercent: z.string(),
    network: z.string(),
    pids: z.string(),
    agentId: z.string(),
  }),
  status: z.string(),
})

/** `GET /api/metrics/:userId/summary`. */
export const BackendMetricsSummaryAnswer = z.object({
  revenue: z.object({ month: z.null(), total: z.null(), change: z.null() }),
  bookings: z.object({ completed: z.null(), pending: z.null(), conversion: z.null() }),
  fans: z.object({
    total: z.null(),
    active: z.null(),
    growth: z.null(),
    segmentation: z.object({ superfans: z.null(), casual: z.null(), new: z.null() }),
  }),
  streams: z.object({ monthlyListeners: z.null(), monthlyStreams: z.null(), growth: z.null() }),
  skills: z.object({ active: z.null(), total: z.null(), growth: z.null() }),
})
