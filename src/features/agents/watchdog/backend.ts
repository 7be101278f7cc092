import { Hono, type MiddlewareHandler } from 'hono'
import type { BackendEnv } from '../../../http/env.ts'
import { getAgent } from '../registry/list.ts'
import { type ShowDeps, showWatchdog } from './show.ts'

/** The same as on the web, behind the internal key. */
export function watchdogBackend(deps: ShowDeps & { internalKey: MiddlewareHandler<BackendEnv> }) {
  const app = new Hono<BackendEnv>()

  app.get('/api/agents/:id/watchdog', deps.internalKey, (c) => {
    const { id } = getAgent(deps.db, c.var.principal, c.req.param('id'))
    return c.json(showWatchdog(deps, id))
  })

  return app
}
