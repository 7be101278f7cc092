import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import type { ReleaseFeed } from './release-feed.ts'
import { UpdateNotice } from './schemas.ts'

/** Serves the newest release to administrators. */
export function updatesWeb(deps: { guards: Guards; releaseFeed: Pick<ReleaseFeed, 'read'> }) {
  const app = new Hono<WebEnv>()
  app.get(
    '/api/admin/update',
    endpoint({
      summary: 'Returns the newest release of the feed',
      tag: 'Administration',
      responses: { 200: UpdateNotice },
    }),
    deps.guards.admin,
    (c) => c.json(deps.releaseFeed.read()),
  )
  return app
}
