import { Hono } from 'hono'
import type { ChangeFeed } from '../../../db/changes.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { type LiveStreams, liveStream } from '../../../http/streams/sse.ts'
import { validate } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import { FleetChange, FleetChanged, FleetPage, FleetQuery } from './schemas.ts'
import { changeFleet, type FleetChangeDeps, followFleet, listFleetPage } from './service.ts'

/** The user's agents as one pageable list, with live changes and bulk actions. */
export function fleetWeb(
  deps: Base & FleetChangeDeps & { changes: ChangeFeed; guards: Guards; liveStreams: LiveStreams },
) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/fleet',
    endpoint({
      summary: 'Lists agents with status, labels, uptime and cost',
      tag: 'Fleet',
      responses: { 200: FleetPage },
    }),
    signedIn,
    validate('query', FleetQuery),
    (c) => c.json(listFleetPage(deps, c.var.user.id, c.req.valid('query'))),
  )

  app.get(
    '/api/fleet/events',
    endpoint({
      summary: 'Streams changes of your agents',
      tag: 'Fleet',
      responses: { 200: 'text/event-stream' },
      errors: ['limited'],
    }),
    signedIn,
    (c) => {
      const { user } = c.var
      return liveStream(c, deps, { kind: 'user', user }, (stream) => followFleet(deps, user.id, stream))
    },
  )

  app.post(
    '/api/fleet/changes',
    endpoint({
      summary: 'Changes many agents at once',
      tag: 'Fleet',
      responses: { 200: FleetChanged },
      scope: 'agents',
    }),
    signedIn,
    validate('json', FleetChange),
    async (c) => c.json(await changeFleet(deps, { kind: 'user', user: c.var.user }, c.req.valid('json'))),
  )

  return app
}
