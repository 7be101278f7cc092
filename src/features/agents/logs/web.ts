import { Hono } from 'hono'
import { NoBody } from '../../../core/action.ts'
import type { SignedInUser, WebEnv } from '../../../http/env.ts'
import { routeTraits } from '../../../http/route-traits.ts'
import type { Guards } from '../../../http/session.ts'
import { validate, validateAnyBody } from '../../../http/validate.ts'
import { getLogHistory, listActiveLogs, stopLogStreams } from './read.ts'
import { LogHistoryQuery } from './schemas.ts'
import { createLogStream, type LogRouteDeps } from './stream.ts'

/** Logs of one's own agents, under the paths of the backend (decisions, 19). */
export function logsWeb(deps: LogRouteDeps & { guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards
  const stream = createLogStream(deps)

  app.get('/api/logs/active', signedIn, (c) => c.json(listActiveLogs(deps, as(c.var.user))))

  app.get('/api/logs/:agentId/stream', signedIn, (c) => stream(c, as(c.var.user), c.req.param('agentId')))

  app.get('/api/logs/:agentId/history', signedIn, validate('query', LogHistoryQuery), (c) =>
    c.json(getLogHistory(deps, as(c.var.user), c.req.param('agentId'), c.req.valid('query'))),
  )

  app.post(
    '/api/logs/:agentId/stop',
    routeTraits({ scope: 'agents', worksOnFullDisk: true }),
    signedIn,
    validateAnyBody(NoBody),
    (c) => {
      stopLogStreams(deps, as(c.var.user), c.req.param('agentId'))
      return c.json({ success: true })
    },
  )

  return app
}

function as(user: SignedInUser) {
  return { kind: 'user', user } as const
}
