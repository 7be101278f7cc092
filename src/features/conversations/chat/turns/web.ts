import { Hono } from 'hono'
import type { Log } from '../../../../core/log.ts'
import type { Db } from '../../../../db/open.ts'
import { endpoint } from '../../../../http/endpoint.ts'
import type { WebEnv } from '../../../../http/env.ts'
import { limitRate } from '../../../../http/rate-limit.ts'
import type { Guards } from '../../../../http/sessions/session.ts'
import { type LiveStreams, liveStream } from '../../../../http/streams/sse.ts'
import { NoBody, validate, validateAnyBody } from '../../../../http/validate.ts'
import { OneTurn, TurnEventsQuery, TurnList, TurnQuery } from '../schemas.ts'
import { followTurn, listRunningTurns, showTurn } from './read.ts'
import { findMessage, getTurn } from './store.ts'
import type { Turns } from './turns.ts'

/** Routes for reading, joining and stopping turns. */
export function turnsWeb(deps: {
  db: Db
  log: Log
  turns: Turns
  guards: Guards
  liveStreams: LiveStreams
  requestsPerMinute: { chat: number }
}) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.use(
    '/api/chat/*',
    limitRate(() => deps.requestsPerMinute.chat, 'Too many requests, please slow down.'),
  )

  app.get(
    '/api/chat/turns',
    endpoint({ summary: 'Lists the turns that are running', tag: 'Chat', responses: { 200: TurnList } }),
    signedIn,
    validate('query', TurnQuery),
    (c) => c.json({ turns: listRunningTurns(deps, c.var.user.id, c.req.valid('query')) }),
  )

  app.get(
    '/api/chat/turns/:id',
    endpoint({
      summary: 'Returns a turn with its tools and cost',
      tag: 'Chat',
      responses: { 200: OneTurn },
      errors: ['not_found'],
    }),
    signedIn,
    (c) => c.json({ turn: showTurn(deps, c.var.user.id, c.req.param('id')) }),
  )

  app.get(
    '/api/chat/turns/:id/events',
    endpoint({
      summary: 'Streams a turn from any position',
      tag: 'Chat',
      responses: { 200: 'text/event-stream', 204: null },
      errors: ['not_found'],
    }),
    signedIn,
    validate('query', TurnEventsQuery),
    (c) => {
      const turn = getTurn(deps.db, c.var.user.id, c.req.param('id'))
      const question = findMessage(deps.db, turn.questionId)
      const known = readPosition(c.req.header('last-event-id')) ?? c.req.valid('query').after
      // 204 keeps browsers from reconnecting after the last event.
      if (!question || (turn.state !== 'running' && known > showTurn(deps, c.var.user.id, turn.id).position)) {
        return c.body(null, 204)
      }
      const principal = { kind: 'user', user: c.var.user } as const
      return liveStream(c, deps, principal, (stream) => followTurn(deps, { turn, question }, known, stream))
    },
  )

  app.post(
    '/api/chat/turns/:id/stop',
    endpoint({
      summary: 'Stops a turn',
      tag: 'Chat',
      responses: { 200: OneTurn },
      errors: ['not_found'],
      scope: 'agents',
      worksOnFullDisk: true,
    }),
    signedIn,
    validateAnyBody(NoBody),
    async (c) => {
      const { id } = getTurn(deps.db, c.var.user.id, c.req.param('id'))
      await deps.turns.stop(id)
      return c.json({ turn: showTurn(deps, c.var.user.id, id) })
    },
  )

  return app
}

function readPosition(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : null
}
