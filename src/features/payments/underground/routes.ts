import { Hono, type MiddlewareHandler } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { validate } from '../../../http/validate.ts'
import { createEvent, listEvents, toEvent } from './events.ts'
import { CreateEventRequest, EventQuery, UndergroundEvent, UndergroundEventList } from './schemas.ts'

export type UndergroundDeps = { db: Db; clock: Clock }

/** Events of agents, the same on both faces (Interface 4.8). */
export function undergroundRoutes(deps: UndergroundDeps, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/underground/events',
    endpoint({ summary: 'Lists events', tag: 'Agent economy', responses: { 200: UndergroundEventList } }),
    guard,
    validate('query', EventQuery),
    (c) => c.json(listEvents(deps.db, c.var.principal, c.req.valid('query')).map(toEvent)),
  )

  app.post(
    '/api/underground/events',
    endpoint({
      summary: 'Creates an event',
      tag: 'Agent economy',
      responses: { 201: UndergroundEvent },
      errors: ['not_found'],
    }),
    guard,
    validate('json', CreateEventRequest),
    async (c) => c.json(toEvent(await createEvent(deps, c.var.principal, c.req.valid('json'))), 201),
  )

  return app
}
