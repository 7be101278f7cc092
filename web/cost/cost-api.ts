import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { MyUsage } from '../../src/features/models/gateway/schemas.ts'
import { CostDashboard, type CostQuery } from '../../src/features/models/usage/schemas.ts'
import { request } from '../api/request.ts'

/** What the caller's agents cost in a period; the figures of the last period stay until the next have come. */
export function costQuery(period: CostQuery['period']) {
  return queryOptions({
    queryKey: ['cost', period],
    queryFn: ({ signal }) => request(CostDashboard, `/api/dashboard/cost?period=${period}`, { signal }),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  })
}

/** What is used of the plan this month. */
export const monthQuery = queryOptions({
  queryKey: ['cost', 'month'],
  queryFn: ({ signal }) => request(MyUsage, '/api/me/usage', { signal }),
  staleTime: 30_000,
})

/** Where the browser downloads each call of a period as CSV. */
export function exportPath(period: CostQuery['period']): string {
  const days = { '7d': 7, '30d': 30, mtd: 31 }[period]
  return `/api/usage/export?days=${days}`
}
