import { Hono, type MiddlewareHandler } from 'hono'
import type { Log } from '../../../core/log.ts'
import type { ChangeFeed } from '../../../db/changes.ts'
import type { Db } from '../../../db/open.ts'
import { Done, endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import type { LiveStreams } from '../../../http/streams/sse.ts'
import { NoBody, validate, validateAnyBody } from '../../../http/validate.ts'
import type { LogViewers } from './read.ts'
import { createLogStream, getLogHistory, listActiveLogs, stopLogStreams } from './read.ts'
import { ActiveLogs, LogHistory, LogHistoryQuery, LogStreamQuery } from './schemas.ts'

/** Log routes, shared by the web and the backend API. */
export function logRoutes(
  deps: { db: Db; log: Log; logViewers: LogViewers; changes: ChangeFeed; liveStreams: LiveStreams },
  guard: MiddlewareHandler<BackendEnv>,
) {
  const app = new Hono<BackendEnv>()
  const stream = createLogStream(deps)

  // Registered first: `active` would otherwise match as an agent's id.
  app.get(
    '/api/logs/active',
    endpoint({ summary: 'Lists your open log streams', tag: 'Logs', responses: { 200: ActiveLogs } }),
    guard,
    (c) => c.json(listActiveLogs(deps, c.var.principal)),
  )

  app.get(
    '/api/logs/:agentId/stream',
    endpoint({
      summary: 'Streams the log of an agent',
      tag: 'Logs',
      responses: { 200: 'text/event-stream' },
      errors: ['not_found', 'limited'],
    }),
    guard,
    validate('query', LogStreamQuery),
    (c) => stream(c, c.var.principal, c.req.param('agentId'), c.req.valid('query')),
  )

  app.get(
    '/api/logs/:agentId/history',
    endpoint({
      summary: 'Returns or searches the log of an agent',
      tag: 'Logs',
      responses: { 200: LogHistory },
      errors: ['not_found'],
    }),
    guard,
    validate('query', LogHistoryQuery),
    (c) => c.json(getLogHistory(deps, c.var.principal, c.req.param('agentId'), c.req.valid('query'))),
  )

  app.post(
    '/api/logs/:agentId/stop',
    endpoint({
      summary: 'Ends your log streams for an agent',
      tag: 'Logs',
      responses: { 200: Done },
      errors: ['not_found'],
      scope: 'agents',
      worksOnFullDisk: true,
    }),
    guard,
    validateAnyBody(NoBody),
    (c) => {
      stopLogStreams(deps, c.var.principal, c.req.param('agentId'))
      return c.json({ success: true })
    },
  )

  return app
}
