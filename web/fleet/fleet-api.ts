import { queryOptions } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Labels } from '../../src/features/agents/management/schemas.ts'
import {
  type FleetChange,
  FleetChanged,
  FleetEvent,
  type FleetFigures,
  FleetPage,
} from '../../src/features/monitoring/fleet/schemas.ts'
import { queryClient, refresh } from '../api/query-client.ts'
import { api, inPath, request, within } from '../api/request.ts'
import { whileInSight } from '../api/while-in-sight.ts'
import type { FleetSearch } from '../routes/searches.ts'

/** About two screens. */
export const PAGE_AGENTS = 50
/** Uptime changes hourly; everything else arrives by events. */
const QUIET_MS = 300_000

const fleetEventsPath = '/api/fleet/events'

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

/** Poll interval where event streams are blocked. */
const POLL_MS = 5_000

/** Applies live figures to the shown agents and reloads when agents or statuses change. */
export function useFleetEvents(): void {
  useEffect(() => {
    let poll: ReturnType<typeof setInterval> | undefined
    const readAnew = () => void refresh({ queryKey: fleetKey })
    const leave = whileInSight(() => {
      const source = new EventSource(fleetEventsPath)
      // Covers changes before the stream opened and while it was lost.
      source.addEventListener('open', readAnew)
      source.addEventListener('agents', ({ data }) => {
        const event = FleetEvent.safeParse(JSON.parse(String(data)))
        if (event.success && takeIn(event.data)) readAnew()
      })
      source.addEventListener('error', () => {
        if (source.readyState === EventSource.CLOSED) poll ??= setInterval(readAnew, POLL_MS)
      })
      return source
    })
    return () => {
      leave()
      clearInterval(poll)
    }
  }, [])
}

/** @returns whether agents or statuses changed, not just figures. */
function takeIn({ changed, gone }: FleetEvent): boolean {
  const newest = new Map(changed.map((figures) => [figures.id, figures]))
  const known = new Map<string, FleetFigures>()
  for (const [key, page] of queryClient.getQueriesData<FleetPage>({ queryKey: fleetKey })) {
    if (!page) continue
    for (const agent of page.agents) if (newest.has(agent.id)) known.set(agent.id, agent)
    queryClient.setQueryData<FleetPage>(key, {
      ...page,
      agents: page.agents.map((agent) => merge(agent, newest.get(agent.id))),
    })
  }
  const isOther = ({ id, status, name }: FleetFigures) =>
    known.get(id)?.status !== status || known.get(id)?.name !== name
  return gone.length > 0 || changed.some(isOther)
}

function merge(agent: FleetPage['agents'][number], newest: FleetFigures | undefined) {
  if (!newest) return agent
  const hasSpoken = newest.messagesToday > agent.messagesToday
  return { ...agent, ...newest, ...(hasSpoken && { lastActivity: new Date().toISOString() }) }
}
