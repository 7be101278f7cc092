import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { CostDashboard, type CostQuery } from '../../src/features/usage/schemas.ts'
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
