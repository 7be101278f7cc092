import type { MetricsSummary } from './schemas.ts'

/**
 * `GET /api/metrics/:userId/summary`. None of it is recorded by this platform: what nobody measures is null, and no number
 * stands in for it.
 */
export const UNMEASURED_SUMMARY: MetricsSummary = {
  revenue: { month: null, total: null, change: null },
  bookings: { completed: null, pending: null, conversion: null },
  fans: { total: null, active: null, growth: null, segmentation: { superfans: null, casual: null, new: null } },
  streams: { monthlyListeners: null, monthlyStreams: null, growth: null },
  skills: { active: null, total: null, growth: null },
}
