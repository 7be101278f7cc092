import { Hono, type MiddlewareHandler } from 'hono'
import { NoBody } from '../../../core/action.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { routeTraits } from '../../../http/route-traits.ts'
import { validate, validateAnyBody } from '../../../http/validate.ts'
import { getLogHistory, listActiveLogs, stopLogStreams } from './read.ts'
import { LogHistoryQuery } from './schemas.ts'
import { createLogStream, type LogRouteDeps } from './stream.ts'

/** Logs of agents as services see them, behind the internal key (Interface 4.15). */
export function logsBackend(deps: LogRouteDeps & { internalKey: MiddlewareHandler<BackendEnv> }) {
  const app = new Hono<BackendEnv>()
  const { internalKey } = deps
  const stream = createLogStream(deps)

  // Before the others, whose agent could be called so.
  app.get('/api/logs/active', internalKey, (c) => c.json(listActiveLogs(deps, c.var.principal)))

  app.get('/api/logs/:agentId/stream', internalKey, (c) => stream(c, c.var.principal, c.req.param('agentId')))

  app.get('/api/logs/:agentId/history', internalKey, validate('query', LogHistoryQuery), (c) =>
    c.json(getLogHistory(deps, c.var.principal, c.req.param('agentId'), c.req.valid('query'))),
  )

  app.post(
    '/api/logs/:agentId/stop',
    routeTraits({ worksOnFullDisk: true }),
    internalKey,
    validateAnyBody(NoBody),
    (c) => {
      stopLogStreams(deps, c.var.principal, c.req.param('agentId'))
      return c.json({ success: true })
    },
  )

  return app
}
