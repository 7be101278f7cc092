import { and, desc, eq, gt, like } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import { type SessionRow, sessions } from '../users/tables.ts'
import { endSessions } from './sessions.ts'

/** The id of a session is the first 16 hex digits of its token's hash, which cannot be used to sign in. */
const ID = /^[0-9a-f]{16}$/

export function toSessionId(tokenHash: string): string {
  return tokenHash.slice(0, 16)
}

/** Returns the user's active sessions, latest sign-in first. */
export function listSessions({ db, clock }: Base, userId: string): SessionRow[] {
  return db
    .select()
    .from(sessions)
    .where(and(eq(sessions.userId, userId), gt(sessions.expiresAt, clock.now())))
    .orderBy(desc(sessions.createdAt), sessions.tokenHash)
    .all()
}

/** Ends one session of the user. @throws AppError `not_found` for an unknown session and for another user's. */
export async function endSession(db: Db, userId: string, id: string): Promise<void> {
  const ended = await write(db, (tx) => {
    if (!ID.test(id)) return 0
    return tx
      .delete(sessions)
      .where(and(eq(sessions.userId, userId), like(sessions.tokenHash, `${id}%`)))
      .run().changes
  })
  if (ended === 0) throw new AppError('not_found', 'Session not found')
}

/** Ends every session of the user except the one with the token `keep`. */
export async function endOtherSessions(db: Db, userId: string, keep: string): Promise<void> {
  await write(db, (tx) => endSessions(tx, userId, keep))
}

export function sessionIdOf(token: string): string {
  return toSessionId(sha256(token))
}

const RECENT_MS = 15 * 60_000

/** The dashboard shows the sign-in form for this code. */
export const FRESH_SESSION_REQUIRED = { code: 'FRESH_SESSION_REQUIRED' }

/** Returns whether the session started within the last 15 minutes; an API key does not count. */
export function hasRecentSignIn({ db, clock }: Base, userId: string, sessionToken: string | undefined): boolean {
  if (sessionToken === undefined) return false
  const since = new Date(clock.now().getTime() - RECENT_MS)
  const isTheirs = and(eq(sessions.tokenHash, sha256(sessionToken)), eq(sessions.userId, userId))
  const recent = db
    .select({ createdAt: sessions.createdAt })
    .from(sessions)
    .where(and(isTheirs, gt(sessions.createdAt, since)))
  return recent.get() !== undefined
}

/** Protects sensitive actions from unattended sessions. @throws AppError `unauthenticated` FRESH_SESSION_REQUIRED. */
export function requireRecentSignIn(deps: Base, userId: string, sessionToken: string | undefined): void {
  if (hasRecentSignIn(deps, userId, sessionToken)) return
  throw new AppError('unauthenticated', 'Sign in again to do this', FRESH_SESSION_REQUIRED)
}
