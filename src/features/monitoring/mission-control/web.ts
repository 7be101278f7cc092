import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import type { UsageRecorder } from '../../ai/usage/recording/record.ts'
import { type GraphDeps, getFleetGraph } from './graph.ts'
import { Bookings, FleetCosts, FleetGraph, TraceList } from './schemas.ts'
import { getFleetCosts, listBookings, listTraces } from './service.ts'

export type MissionControlWebDeps = GraphDeps & {
  plansArePaid: boolean
  guards: Guards
  usage: Pick<UsageRecorder, 'flush'>
}

/** The signed-in user's fleet, from rows alone; nobody sees an empty one (Interface 4.15). */
export function missionControlWeb(deps: MissionControlWebDeps) {
  const app = new Hono<WebEnv>()
  const { findUser } = deps.guards

  app.get(
    '/api/mission-control/fleet/graph',
    endpoint({
      summary: 'Returns the graph of agents',
      tag: 'Mission control',
      responses: { 200: FleetGraph },
      errors: ['unauthenticated'],
    }),
    async (c) => c.json(getFleetGraph(deps, await findUser(c))),
  )

  app.get(
    '/api/mission-control/fleet/traces',
    endpoint({
      summary: 'Lists recent model calls',
      tag: 'Mission control',
      responses: { 200: TraceList },
      errors: ['unauthenticated'],
    }),
    async (c) => {
      const user = await findUser(c)
      await deps.usage.flush()
      return c.json(listTraces(deps.db, user))
    },
  )

  app.get(
    '/api/mission-control/fleet/costs',
    endpoint({
      summary: 'Returns the cost of each agent',
      tag: 'Mission control',
      responses: { 200: FleetCosts },
      errors: ['unauthenticated'],
    }),
    async (c) => {
      const user = await findUser(c)
      await deps.usage.flush()
      return c.json(await getFleetCosts(deps, user))
    },
  )

  app.get(
    '/api/mission-control/fleet/bookings',
    endpoint({
      summary: 'Lists bookings and pending payments',
      tag: 'Mission control',
      responses: { 200: Bookings },
      errors: ['unauthenticated'],
    }),
    async (c) => c.json(listBookings(deps.db, await findUser(c))),
  )

  return app
}
