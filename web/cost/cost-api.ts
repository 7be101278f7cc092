import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { MyUsage } from '../../src/features/ai/gateway/schemas.ts'
import { CallList, CostDashboard, type CostQuery, UsageByDay } from '../../src/features/ai/usage/schemas.ts'
import { api, request } from '../api/request.ts'
import type { Chosen } from './explore.ts'

/** What the caller's agents cost in a period; the figures of the last period stay until the next have come. */
export function costQuery(period: CostQuery['period']) {
  return queryOptions({
    queryKey: ['cost', period],
    queryFn: ({ signal }) =>
      request(CostDashboard, api.GET('/api/dashboard/cost', { params: { query: { period } }, signal })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  })
}

/** What was used on each day of a period, by agent and model. */
export function byDayQuery(days: number) {
  return queryOptions({
    queryKey: ['cost', 'by-day', days],
    queryFn: ({ signal }) => request(UsageByDay, api.GET('/api/usage/by-day', { params: { query: { days } }, signal })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  })
}

/** Each call of a model, newest first. */
export function callsQuery({ agent, model, key, status }: Chosen & { status: 'succeeded' | 'failed' | undefined }) {
  const wanted = {
    ...(agent && { agentId: agent }),
    ...(model && { model }),
    ...(key && { keyId: key }),
    ...(status && { status }),
  }
  return infiniteQueryOptions({
    queryKey: ['cost', 'calls', wanted],
    queryFn: ({ pageParam, signal }) => {
      const query = { ...wanted, before: pageParam ?? undefined }
      return request(CallList, api.GET('/api/usage/calls', { params: { query }, signal }))
    },
    initialPageParam: null as number | null,
    getNextPageParam: ({ nextBefore }) => nextBefore,
    staleTime: 30_000,
  })
}

/** How many days a period has, today included (UTC). */
export function daysOf(period: CostQuery['period']): number {
  return { '7d': 7, '30d': 30, mtd: new Date().getUTCDate() }[period]
}

/** What is used of the plan this month. */
export const monthQuery = queryOptions({
  queryKey: ['cost', 'month'],
  queryFn: ({ signal }) => request(MyUsage, api.GET('/api/me/usage', { signal })),
  staleTime: 30_000,
})

/** Where the browser downloads each call of a period as CSV. */
export function exportPath(period: CostQuery['period']): string {
  const days = { '7d': 7, '30d': 30, mtd: 31 }[period]
  return `/api/usage/export?days=${days}`
}
