import { Hono } from 'hono'
import type { Db } from '../../../../db/open.ts'
import { endpoint } from '../../../../http/endpoint.ts'
import type { WebEnv } from '../../../../http/env.ts'
import type { Guards } from '../../../../http/sessions/session.ts'
import { ConversationList, ConversationMessages } from '../schemas.ts'
import { listConversations, readConversation } from './conversations.ts'

/** Routes for conversations outside of the web. */
export function conversationsWeb(deps: { db: Db; guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/agents/:id/conversations',
    endpoint({
      summary: 'Lists the conversations of an agent outside the web',
      tag: 'Channels',
      responses: { 200: ConversationList },
      errors: ['not_found'],
    }),
    signedIn,
    (c) => c.json(listConversations(deps.db, { kind: 'user', user: c.var.user }, c.req.param('id'))),
  )

  app.get(
    '/api/agents/:id/conversations/:session',
    endpoint({
      summary: 'Returns a conversation outside the web',
      tag: 'Channels',
      responses: { 200: ConversationMessages },
      errors: ['not_found'],
    }),
    signedIn,
    (c) => c.json(readConversation(deps.db, { kind: 'user', user: c.var.user }, c.req.param())),
  )

  return app
}
