import { queryOptions } from '@tanstack/react-query'
import { Labels } from '../../src/features/agents/management/schemas.ts'
import { type FleetChange, FleetChanged, FleetPage } from '../../src/features/monitoring/fleet/schemas.ts'
import { api, inPath, request, within } from '../api/request.ts'
import type { FleetSearch } from './fleet-search.ts'

/** Agents of a page: as many as two screens show. */
export const PAGE_AGENTS = 50
/** Uptime is told by the hour; everything else comes by events. */
const QUIET_MS = 300_000

/** Where the server sends what changes of all agents. */
export const fleetEventsPath = '/api/fleet/events'

/** Whatever is read of many agents has a key that begins so; it lies below that of the agents. */
export const fleetKey = ['agents', 'fleet'] as const

/** One page of the agents that fit. */
export function fleetQuery(search: FleetSearch, page: number) {
  return queryOptions({
    queryKey: [...fleetKey, search, page],
    queryFn: ({ signal }) => readFleet(search, { limit: PAGE_AGENTS, offset: page * PAGE_AGENTS }, signal),
    staleTime: 15_000,
    refetchInterval: QUIET_MS,
  })
}

/** The ids of all agents that fit, a hundred at a time. */
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

/** Does the same to some agents and waits until it is done. */
export function changeFleet(change: FleetChange) {
  return request(FleetChanged, api.POST('/api/fleet/changes', { body: change, fetch: within(300_000) }))
}

/** Gives an agent these labels and no others. */
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
