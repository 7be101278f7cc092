import { Hono } from 'hono'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/session.ts'
import { getAgent } from '../registry/list.ts'
import { type ShowDeps, showWatchdog } from './show.ts'

/** State, history and uptime of an agent for its owner. */
export function watchdogWeb(deps: ShowDeps & { guards: Guards }) {
  const app = new Hono<WebEnv>()

  app.get('/api/agents/:id/watchdog', deps.guards.signedIn, (c) => {
    const { id } = getAgent(deps.db, { kind: 'user', user: c.var.user }, c.req.param('id'))
    return c.json(showWatchdog(deps, id))
  })

  return app
}
