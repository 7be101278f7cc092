import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { FleetEvent, type FleetFigures, type FleetPage } from '../../src/features/monitoring/fleet/schemas.ts'
import { whileInSight } from '../api/while-in-sight.ts'
import { fleetEventsPath, fleetKey } from './fleet-api.ts'

/** Poll interval where event streams are blocked. */
const POLL_MS = 5_000

/** Applies live figures to the shown agents and reloads when agents or statuses change. */
export function useFleetEvents(): void {
  const client = useQueryClient()
  useEffect(() => {
    let poll: ReturnType<typeof setInterval> | undefined
    const readAnew = () => void client.invalidateQueries({ queryKey: fleetKey })
    const leave = whileInSight(() => {
      const source = new EventSource(fleetEventsPath)
      // Covers changes before the stream opened and while it was lost.
      source.addEventListener('open', readAnew)
      source.addEventListener('agents', ({ data }) => {
        const event = FleetEvent.safeParse(JSON.parse(String(data)))
        if (event.success && takeIn(client, event.data)) readAnew()
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
  }, [client])
}

/** @returns whether agents or statuses changed, not just figures. */
function takeIn(client: QueryClient, { changed, gone }: FleetEvent): boolean {
  const newest = new Map(changed.map((figures) => [figures.id, figures]))
  const known = new Map<string, FleetFigures>()
  for (const [key, page] of client.getQueriesData<FleetPage>({ queryKey: fleetKey })) {
    if (!page) continue
    for (const agent of page.agents) if (newest.has(agent.id)) known.set(agent.id, agent)
    client.setQueryData<FleetPage>(key, {
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
