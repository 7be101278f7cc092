import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { AgentHistory, AgentHistoryQuery } from '../../src/features/monitoring/metrics/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { api, request } from '../api/request.ts'

export type Range = AgentHistoryQuery['range']
export const RANGES: readonly Range[] = ['1h', '24h', '7d', '30d']

/** Keeps the last range's figures until the next ones arrive. */
export function historyQuery(agentId: string, range: Range) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'metrics', range],
    queryFn: ({ signal }) =>
      request(
        AgentHistory,
        api.GET('/api/agents/{id}/metrics', { params: { path: { id: agentId }, query: { range } }, signal }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: range === '1h' ? 30_000 : 120_000,
  })
}

export function readRange(search: Record<string, unknown>): { range: Range } {
  return { range: AgentHistoryQuery.shape.range.catch('24h').parse(search.range) }
}
