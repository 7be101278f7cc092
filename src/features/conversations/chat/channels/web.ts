import { Hono } from 'hono'
import type { Db } from '../../../../db/open.ts'
import { answers } from '../../../../http/answers.ts'
import type { WebEnv } from '../../../../http/env.ts'
import type { Guards } from '../../../../http/sessions/session.ts'
import { ConversationList, ConversationMessages } from '../schemas.ts'
import { listConversations, readConversation } from './conversations.ts'

/** The conversations of one's agents outside of the web (Interface 4.4). */
export function conversationsWeb(deps: { db: Db; guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get('/api/agents/:id/conversations', answers({ 200: ConversationList }, 'not_found'), signedIn, (c) =>
    c.json(listConversations(deps.db, { kind: 'user', user: c.var.user }, c.req.param('id'))),
  )

  app.get(
    '/api/agents/:id/conversations/:session',
    answers({ 200: ConversationMessages }, 'not_found'),
    signedIn,
    (c) => c.json(readConversation(deps.db, { kind: 'user', user: c.var.user }, c.req.param())),
  )

  return app
}
