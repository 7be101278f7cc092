import { type Context, Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { eventStream } from '../../../http/streams/sse.ts'
import { validate } from '../../../http/validate.ts'
import { listMessages } from './history.ts'
import { MessageList, MessageQuery, OneTurn, SendMessageRequest, SentMessage } from './schemas.ts'
import { beginTurn, type ChatDeps, openTurn, type Turn, waitForReply } from './send.ts'
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
