import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { Overview } from './schemas.ts'
import { type ShowOverviewDeps, showOverview } from './service.ts'

/** The start page of the dashboard. */
export function overviewWeb(deps: ShowOverviewDeps & { guards: Pick<Guards, 'signedIn'> }) {
  const app = new Hono<WebEnv>()

  app.get(
    '/api/overview',
    endpoint({
      summary: 'Returns alerts, spending and recent conversations',
      tag: 'Overview',
      responses: { 200: Overview },
    }),
    deps.guards.signedIn,
    (c) => c.json(showOverview(deps, c.var.user)),
  )

  return app
}
