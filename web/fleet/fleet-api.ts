import { queryOptions } from '@tanstack/react-query'
import { Labels } from '../../src/features/agents/management/schemas.ts'
import { type FleetChange, FleetChanged, FleetPage } from '../../src/features/monitoring/fleet/schemas.ts'
import { api, inPath, request, within } from '../api/request.ts'
import type { FleetSearch } from './fleet-search.ts'

/** About two screens. */
export const PAGE_AGENTS = 50
/** Uptime changes hourly; everything else arrives by events. */
const QUIET_MS = 300_000

export const fleetEventsPath = '/api/fleet/events'

/** Key prefix of fleet queries, below the one of agents. */
export const fleetKey = ['agents', 'fleet'] as const

export function fleetQuery(search: FleetSearch, page: number) {
  return queryOptions({
    queryKey: [...fleetKey, search, page],
    queryFn: ({ signal }) => readFleet(search, { limit: PAGE_AGENTS, offset: page * PAGE_AGENTS }, signal),
    staleTime: 15_000,
    refetchInterval: QUIET_MS,
  })
}

export async function listFleetIds(search: FleetSearch): Promise<string[]> {
  const ids: string[] = []
  for (let total = 1; ids.length < total; ) {
    const page = await readFleet(search, { limit: 100, offset: ids.length })
    if (page.agents.length === 0) break
    ids.push(...page.agents.map(({ id }) => id))
    total = page.total
  }
  return [...new Set(ids)]
}

export function changeFleet(change: FleetChange) {
  return request(FleetChanged, api.POST('/api/fleet/changes', { body: change, fetch: within(300_000) }))
}

export function setLabels(agentId: string, labels: readonly string[]) {
  return request(
    Labels,
    api.PUT('/api/agents/{id}/labels', { ...inPath({ id: agentId }), body: { labels: [...labels] } }),
  )
}

function readFleet(search: FleetSearch, part: { limit: number; offset: number }, signal?: AbortSignal) {
  const query = { ...search, ...part }
  return request(FleetPage, api.GET('/api/fleet', { params: { query }, ...(signal && { signal }) }))
}
