import { type Context, Hono, type MiddlewareHandler } from 'hono'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Log } from '../../../core/log.ts'
import type { Db } from '../../../db/open.ts'
import { Done, endpoint, type RouteOptions } from '../../../http/endpoint.ts'
import type { BackendEnv, WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { eventStream } from '../../../http/streams/sse.ts'
import { validate } from '../../../http/validate.ts'
import { AgentMessages, AgentMessagesQuery } from '../../agents/registry/schemas.ts'
import { listAgentMessages, listMessages } from './history.ts'
import {
  ChangeSessionRequest,
  ChatSearchQuery,
  ChatSessionList,
  MessageList,
  MessageQuery,
  NewSessionRequest,
  OneSession,
  OneTurn,
  SearchResults,
  SendMessageRequest,
  SentMessage,
  SessionQuery,
} from './schemas.ts'
import { searchMessages } from './search.ts'
import { beginTurn, type ChatDeps, openTurn, type Turn, waitForReply } from './send.ts'
import { changeChatSession, deleteChatSession, listChatSessions, openChatSession } from './session-list.ts'
import { readOnce } from './turns/idempotency.ts'
import { followTurn, showTurn } from './turns/read.ts'

/** Routes for chatting with agents. */
export function chatWeb(deps: ChatDeps & { guards: Guards; requestsPerMinute: { chat: number } }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.use(
    '/api/chat',
    limitRate(() => deps.requestsPerMinute.chat, 'Too many requests, please slow down.'),
  )

  app.get(
    '/api/chat',
    endpoint({
      summary: 'Lists messages of a conversation',
      tag: 'Chat',
      responses: { 200: MessageList },
      errors: ['limited'],
    }),
    signedIn,
    validate('query', MessageQuery),
    (c) => c.json(listMessages(deps.db, c.var.user, c.req.valid('query'))),
  )

  app.post(
    '/api/chat',
    endpoint({
      summary: 'Sends a message to an agent',
      tag: 'Chat',
      responses: { 200: [SentMessage, 'text/event-stream'], 202: OneTurn },
      errors: ['not_found', 'conflict', 'limited', 'internal', 'upstream_failed', 'unavailable'],
      scope: 'agents',
    }),
    signedIn,
    validate('json', SendMessageRequest),
    async (c) => {
      const request = c.req.valid('json')
      const { stream, ...asked } = request
      const once = readOnce(c.req.header('idempotency-key'), asked)
      const turn = await openTurn(deps, c.var.user, asked, { once })
      c.header('x-turn-id', turn.turn.id)
      if (turn.made) c.header('idempotency-replayed', 'true')
      if (stream) return streamReply(deps, c, turn)
      if (!wantsAsync(c)) return c.json(await waitForReply(deps, turn, c.req.raw.signal))
      beginTurn(deps, turn)
      return c.json({ turn: showTurn(deps, c.var.user.id, turn.turn.id) }, 202)
    },
  )

  return app
}

/** Streams the turn without event ids, as `delta`, `restart`, `done` and `error`. */
function streamReply(deps: ChatDeps, c: Context<WebEnv>, turn: Turn) {
  beginTurn(deps, turn)
  return eventStream(c, deps.log, ({ send, signal }) =>
    followTurn(deps, turn, 0, {
      signal,
      send: async (event, data) => {
        // Tool calls are sent only to callers who join the turn.
        if (event === 'tool') return
        const isPlain = event === 'delta' || event === 'restart' || event === 'done'
        await send(isPlain ? event : 'error', data)
      },
    }),
  )
}

/** RFC 7240: `Prefer: respond-async`. */
function wantsAsync(c: Context): boolean {
  return /\brespond-async\b/i.test(c.req.header('prefer') ?? '')
}

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
    validate('query', ChatSearchQuery),
    (c) => c.json(searchMessages(deps.db, c.var.user.id, c.req.valid('query'))),
  )

  app.get(
    '/api/chat/sessions',
    endpoint({
      summary: 'Lists your conversations',
      tag: 'Chat',
      responses: { 200: ChatSessionList },
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

/** Routes for an agent's messages, for the web API and the backend API. */
export function agentMessagesRoutes(deps: { db: Db }, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/messages',
    endpoint({
      summary: 'Lists messages of an agent, page by page',
      tag: 'Chat',
      responses: { 200: AgentMessages },
      errors: ['not_found'],
    }),
    guard,
    validate('query', AgentMessagesQuery),
    (c) => c.json(listAgentMessages(deps.db, c.var.principal, c.req.param('id'), c.req.valid('query'))),
  )

  return app
}
