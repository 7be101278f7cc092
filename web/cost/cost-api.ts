import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { MyUsage } from '../../src/features/ai/gateway/schemas.ts'
import { CallList, CostDashboard, type CostQuery, UsageByDay } from '../../src/features/ai/usage/schemas.ts'
import { api, request } from '../api/request.ts'
import type { Chosen } from './explore.ts'

/** Keeps the last period's figures until the next ones arrive. */
export function costQuery(period: CostQuery['period']) {
  return queryOptions({
    queryKey: ['cost', period],
    queryFn: ({ signal }) =>
      request(CostDashboard, api.GET('/api/dashboard/cost', { params: { query: { period } }, signal })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  })
}

export function byDayQuery(days: number) {
  return queryOptions({
    queryKey: ['cost', 'by-day', days],
    queryFn: ({ signal }) => request(UsageByDay, api.GET('/api/usage/by-day', { params: { query: { days } }, signal })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  })
}

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

/** Days in a period, including today (UTC). */
export function daysOf(period: CostQuery['period']): number {
  return { '7d': 7, '30d': 30, mtd: new Date().getUTCDate() }[period]
}

export const monthQuery = queryOptions({
  queryKey: ['cost', 'month'],
  queryFn: ({ signal }) => request(MyUsage, api.GET('/api/me/usage', { signal })),
  staleTime: 30_000,
})

export function exportPath(period: CostQuery['period']): string {
  const days = { '7d': 7, '30d': 30, mtd: 31 }[period]
  return `/api/usage/export?days=${days}`
}
