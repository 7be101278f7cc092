import { and, desc, eq, gt, like } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { type SessionRow, sessions } from '../users/tables.ts'
import { endSessions } from './sessions.ts'

/** Sessions are named by the first 16 hex digits of the token's hash: enough to tell them apart, of no use to sign in. */
const ID = /^[0-9a-f]{16}$/

export function toSessionId(tokenHash: string): string {
  return tokenHash.slice(0, 16)
}

/** Where a user is signed in now, the latest sign-in first. */
export function listSessions({ db, clock }: { db: Db; clock: Clock }, userId: string): SessionRow[] {
  return db
    .select()
    .from(sessions)
    .where(and(eq(sessions.userId, userId), gt(sessions.expiresAt, clock.now())))
    .orderBy(desc(sessions.createdAt), sessions.tokenHash)
    .all()
}

/** Signs one browser of the user out. @throws AppError `not_found` for a missing session and for someone else's. */
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

/** Signs out every browser of the user but the one whose token is `keep`. */
export async function endOtherSessions(db: Db, userId: string, keep: string): Promise<void> {
  await write(db, (tx) => endSessions(tx, userId, keep))
}

/** The id of the session that `token` belongs to. */
export function sessionIdOf(token: string): string {
  return toSessionId(sha256(token))
}

const RECENT_MS = 15 * 60_000

/** Tells the dashboard to offer the sign-in form. */
export const FRESH_SESSION_REQUIRED = { code: 'FRESH_SESSION_REQUIRED' }

/** Did the browser with this token sign in within the last 15 minutes? A key is no sign-in. */
export function hasRecentSignIn(
  { db, clock }: { db: Db; clock: Clock },
  userId: string,
  sessionToken: string | undefined,
): boolean {
  if (sessionToken === undefined) return false
  const since = new Date(clock.now().getTime() - RECENT_MS)
  const isTheirs = and(eq(sessions.tokenHash, sha256(sessionToken)), eq(sessions.userId, userId))
  const recent = db
    .select({ createdAt: sessions.createdAt })
    .from(sessions)
    .where(and(isTheirs, gt(sessions.createdAt, since)))
  return recent.get() !== undefined
}

/** For what a session left open must not do. @throws AppError `unauthenticated` FRESH_SESSION_REQUIRED. */
export function requireRecentSignIn(
  deps: { db: Db; clock: Clock },
  userId: string,
  sessionToken: string | undefined,
): void {
  if (hasRecentSignIn(deps, userId, sessionToken)) return
  throw new AppError('unauthenticated', 'Sign in again to do this', FRESH_SESSION_REQUIRED)
}
