import { Hono } from 'hono'
import { answers } from '../../../http/answers.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import type { UsageRecorder } from '../../ai/usage/recording/record.ts'
import { listBookings } from './bookings.ts'
import { getFleetCosts } from './costs.ts'
import { type GraphDeps, getFleetGraph } from './graph.ts'
import { Bookings, FleetCosts, FleetGraph, TraceList } from './schemas.ts'
import { listTraces } from './traces.ts'

export type MissionControlWebDeps = GraphDeps & {
  plansArePaid: boolean
  guards: Guards
  usage: Pick<UsageRecorder, 'flush'>
}

/** The signed-in user's fleet, from rows alone; nobody sees an empty one (Interface 4.15). */
export function missionControlWeb(deps: MissionControlWebDeps) {
  const app = new Hono<WebEnv>()
  const { findUser } = deps.guards

  app.get('/api/mission-control/fleet/graph', answers({ 200: FleetGraph }, 'unauthenticated'), async (c) =>
    c.json(getFleetGraph(deps, await findUser(c))),
  )

  app.get('/api/mission-control/fleet/traces', answers({ 200: TraceList }, 'unauthenticated'), async (c) => {
    const user = await findUser(c)
    await deps.usage.flush()
    return c.json(listTraces(deps.db, user))
  })

  app.get('/api/mission-control/fleet/costs', answers({ 200: FleetCosts }, 'unauthenticated'), async (c) => {
    const user = await findUser(c)
    await deps.usage.flush()
    return c.json(await getFleetCosts(deps, user))
  })

  app.get('/api/mission-control/fleet/bookings', answers({ 200: Bookings }, 'unauthenticated'), async (c) =>
    c.json(listBookings(deps.db, await findUser(c))),
  )

  return app
}
