import { and, eq, gt } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { sessions } from '../users/tables.ts'

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
