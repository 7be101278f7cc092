import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { LogTail } from './log-tail.ts'
import { LogPage, LogQuery } from './schemas.ts'

/** Serves the latest lines of the server log to administrators. */
export function logsWeb(deps: { guards: Guards; logTail: Pick<LogTail, 'read'> }) {
  const app = new Hono<WebEnv>()
  app.get(
    '/api/admin/logs',
    endpoint({ summary: 'Lists recent server log lines', tag: 'Administration', responses: { 200: LogPage } }),
    deps.guards.admin,
    validate('query', LogQuery),
    (c) => c.json(deps.logTail.read(c.req.valid('query'))),
  )
  return app
}
