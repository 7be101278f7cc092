import { Hono } from 'hono'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Log } from '../../../core/log.ts'
import { Done, endpoint, type RouteOptions } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import {
  ChangeSessionRequest,
  NewSessionRequest,
  OneSession,
  SearchQuery,
  SearchResults,
  SessionList,
  SessionQuery,
} from './schemas.ts'
import { searchMessages } from './search.ts'
import type { ChatDeps } from './send.ts'
import { changeChatSession, deleteChatSession, listChatSessions, openChatSession } from './session-list.ts'

/** Routes for sessions and message search. They share the rate limit of turns. */
export function chatSessionsWeb(
  deps: ChatDeps & { log: Log; guards: Guards; gateway: Pick<AgentGateway, 'forgetSession'> },
) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards
  const ofAgents: RouteOptions = { scope: 'agents' }

  app.get(
    '/api/chat/search',
    endpoint({ summary: 'Searches messages', tag: 'Chat', responses: { 200: SearchResults } }),
    signedIn,
    validate('query', SearchQuery),
    (c) => c.json(searchMessages(deps.db, c.var.user.id, c.req.valid('query'))),
  )

  app.get(
    '/api/chat/sessions',
    endpoint({
      summary: 'Lists your conversations',
      tag: 'Chat',
      responses: { 200: SessionList },
      errors: ['not_found'],
    }),
    signedIn,
    validate('query', SessionQuery),
    (c) => c.json(listChatSessions(deps.db, c.var.user.id, c.req.valid('query'))),
  )

  app.post(
    '/api/chat/sessions',
    endpoint({
      summary: 'Opens a conversation',
      tag: 'Chat',
      responses: { 201: OneSession },
      errors: ['not_found'],
      ...ofAgents,
    }),
    signedIn,
    validate('json', NewSessionRequest),
    async (c) => c.json({ session: await openChatSession(deps, c.var.user, c.req.valid('json')) }, 201),
  )

  app.patch(
    '/api/chat/sessions/:id',
    endpoint({
      summary: 'Changes title or instructions of a conversation',
      tag: 'Chat',
      responses: { 200: OneSession },
      errors: ['not_found', 'conflict'],
      ...ofAgents,
    }),
    signedIn,
    validate('json', ChangeSessionRequest),
    async (c) => {
      const changed = await changeChatSession(deps.db, c.var.user.id, c.req.param('id'), c.req.valid('json'))
      return c.json({ session: changed })
    },
  )

  app.delete(
    '/api/chat/sessions/:id',
    endpoint({
      summary: 'Deletes a conversation',
      tag: 'Chat',
      responses: { 200: Done },
      errors: ['not_found', 'conflict'],
      scope: 'agents',
      worksOnFullDisk: true,
    }),
    signedIn,
    async (c) => {
      await deleteChatSession(deps, c.var.user.id, c.req.param('id'))
      return c.json({ success: true })
    },
  )

  return app
}
