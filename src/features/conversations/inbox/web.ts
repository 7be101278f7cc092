import { Hono } from 'hono'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { listInbox } from './list.ts'
import { Inbox, InboxQuery } from './schemas.ts'

/** Routes for agents' mail. */
export function inboxWeb(deps: { db: Db; guards: Guards }) {
  const app = new Hono<WebEnv>()

  app.get(
    '/api/inbox',
    endpoint({
      summary: 'Lists the mail that your agents received',
      tag: 'Chat',
      responses: { 200: Inbox },
      errors: ['not_found'],
    }),
    deps.guards.signedIn,
    validate('query', InboxQuery),
    (c) => c.json(listInbox(deps.db, c.var.user, c.req.valid('query'))),
  )

  return app
}
