import { Hono, type MiddlewareHandler } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { getAgent } from '../registry/agents.ts'
import { AgentWatchdog } from './schemas.ts'
import { type ShowDeps, showWatchdog } from './show.ts'

/** Watchdog routes, shared by both APIs. */
export function watchdogRoutes(deps: ShowDeps, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/watchdog',
    endpoint({
      summary: 'Returns the watchdog state of an agent',
      tag: 'Watchdog',
      responses: { 200: AgentWatchdog },
      errors: ['not_found'],
    }),
    guard,
    (c) => {
      const { id } = getAgent(deps.db, c.var.principal, c.req.param('id'))
      return c.json(showWatchdog(deps, id))
    },
  )

  return app
}
