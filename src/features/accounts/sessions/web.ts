import { Hono } from 'hono'
import { Done, endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import type { Base } from '../../base.ts'
import type { SessionRow } from '../users/tables.ts'
import { SessionList } from './schemas.ts'
import { endOtherSessions, endSession, listSessions, sessionIdOf, toSessionId } from './sessions.ts'
import { clearSessionCookie, readSessionToken } from './start-session.ts'

/** Session routes of the web API: session cookie, own sessions only. */
export function sessionsWeb(deps: Base & { guards: Guards; isHttps: boolean }) {
  const app = new Hono<WebEnv>()
  const { withSession } = deps.guards

  app.get(
    '/api/auth/sessions',
    endpoint({ summary: 'Lists signed-in sessions', tag: 'Sign-in', responses: { 200: SessionList } }),
    withSession,
    (c) => {
      const current = sessionIdOf(readSessionToken(c) ?? '')
      return c.json({ sessions: listSessions(deps, c.var.user.id).map((row) => toSession(row, current)) })
    },
  )

  app.delete(
    '/api/auth/sessions',
    endpoint({ summary: 'Ends all other sessions', tag: 'Sign-in', responses: { 200: Done } }),
    withSession,
    async (c) => {
      await endOtherSessions(deps.db, c.var.user.id, readSessionToken(c) ?? '')
      return c.json({ success: true })
    },
  )

  app.delete(
    '/api/auth/sessions/:id',
    endpoint({ summary: 'Ends one session', tag: 'Sign-in', responses: { 200: Done }, errors: ['not_found'] }),
    withSession,
    async (c) => {
      const id = c.req.param('id')
      await endSession(deps.db, c.var.user.id, id)
      if (id === sessionIdOf(readSessionToken(c) ?? '')) clearSessionCookie(c, deps)
      return c.json({ success: true })
    },
  )

  return app
}

function toSession(row: SessionRow, currentId: string): SessionList['sessions'][number] {
  const id = toSessionId(row.tokenHash)
  return {
    id,
    current: id === currentId,
    userAgent: row.userAgent,
    address: row.address,
    createdAt: row.createdAt.toISOString(),
    lastSeen: (row.lastSeenAt ?? row.createdAt).toISOString(),
    expiresAt: row.expiresAt.toISOString(),
  }
}
