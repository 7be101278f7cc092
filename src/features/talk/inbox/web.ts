import { Hono } from 'hono'
import type { Db } from '../../../db/open.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { listInbox } from './list.ts'
import { InboxQuery } from './schemas.ts'

/** The mail of one's own agents. */
export function inboxWeb(deps: { db: Db; guards: Guards }) {
  const app = new Hono<WebEnv>()

  app.get('/api/inbox', deps.guards.signedIn, validate('query', InboxQuery), (c) =>
    c.json(listInbox(deps.db, c.var.user, c.req.valid('query'))),
  )

  return app
}
