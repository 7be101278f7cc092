import { and, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import { forgetFailures, returnAttempt, type Throttle, takeAttempt } from '../lockout/throttle.ts'
import { sessions, type UserRow } from '../users/tables.ts'
import type { Passwords } from './passwords.ts'

/** Proof of ownership; `sessionToken` is undefined for API keys. */
export type Confirmation = { password: string | undefined; sessionToken: string | undefined }

/**
 * Requires the password again before sensitive actions, except for accounts without one. Each session has its own ten
 * attempts, so a stolen session cannot block the owner's.
 * @throws AppError `invalid` without `password`, `unauthenticated` for a wrong one, `limited` after ten of those.
 */
export async function confirmPassword(
  deps: Base & { passwords: Passwords },
  user: Pick<UserRow, 'id' | 'passwordHash'>,
  { password, sessionToken }: Confirmation,
): Promise<void> {
  if (user.passwordHash === null) return
  if (!password) throw new AppError('invalid', 'Password required')
  const throttle = ownThrottle(deps.db, 'confirm', user.id, sessionToken)
  await takeAttempt(deps, throttle)
  const isRight = await deps.passwords.verify(password, user.passwordHash).catch(async (error) => {
    await write(deps.db, (tx) => returnAttempt(tx, throttle))
    throw error
  })
  if (!isRight) throw new AppError('unauthenticated', 'Current password is incorrect')
  await write(deps.db, (tx) => forgetFailures(tx, throttle.key))
}

/** Ten attempts per session and quarter of an hour; all API keys of the account share one counter. */
export function ownThrottle(db: Db, what: string, userId: string, sessionToken: string | undefined): Throttle {
  const tokenHash = sha256(sessionToken ?? '')
  const isTheirs = and(eq(sessions.tokenHash, tokenHash), eq(sessions.userId, userId))
  const session = db.select({ tokenHash: sessions.tokenHash }).from(sessions).where(isTheirs).get()
  const who = session ? tokenHash : 'keys'
  return { key: `${what}:account:${userId}:${who}`, limit: 10, windowMs: 15 * 60_000 }
}
