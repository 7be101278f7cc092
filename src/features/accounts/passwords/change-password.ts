import { and, eq, isNull } from 'drizzle-orm'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { recordAudit } from '../audit/audit.ts'
import { deleteAllKeys } from '../keys/delete.ts'
import { endEmailTokens } from '../mails/email-tokens.ts'
import { enqueueMail } from '../mails/send-mail.ts'
import { requireRecentSignIn } from '../sessions/recent-sign-in.ts'
import { endSessions } from '../sessions/sessions.ts'
import { type UserRow, users } from '../users/tables.ts'
import { requireUncommon } from './common-passwords.ts'
import { confirmPassword } from './confirm-password.ts'
import type { Passwords } from './passwords.ts'
import type { ChangePasswordRequest } from './schemas.ts'

export type ChangePasswordDeps = { db: Db; clock: Clock; passwords: Passwords; mailer: Mailer; enqueue: Enqueue }

/** The one who asks: the session stays when all others end. */
export type SessionCaller = { userId: string; sessionToken: string | undefined; address: string | null }

/**
 * Sets a new password; all other sessions, every reset link and the marks of all known devices end with it. An account
 * without one, which signs in elsewhere, gets its first after a recent sign-in.
 * @returns the account as it is now, and how many API keys ended: null when none was to.
 * @throws AppError `invalid` for a missing or common password, `unauthenticated` for a wrong current one, `limited`
 * after ten of those, `not_found`.
 */
export async function changePassword(
  deps: ChangePasswordDeps,
  caller: SessionCaller,
  { currentPassword, newPassword, endKeys }: ChangePasswordRequest,
): Promise<{ user: UserRow; keysEnded: number | null }> {
  const user = deps.db.select().from(users).where(eq(users.id, caller.userId)).get()
  if (!user) throw new AppError('not_found', 'User not found')
  if (user.passwordHash !== null && currentPassword === undefined) {
    throw new AppError('invalid', 'Current and new password required')
  }
  if (user.passwordHash === null) requireRecentSignIn(deps, user.id, caller.sessionToken)
  requireUncommon(newPassword)
  await confirmPassword(deps, user, { password: currentPassword, sessionToken: caller.sessionToken })
  const passwordHash = await deps.passwords.hash(newPassword)
  return write(deps.db, (tx) => {
    const changed = replaceHash(tx, user, { passwordHash, updatedAt: deps.clock.now() })
    if (!changed) throw new AppError('unauthenticated', 'Current password is incorrect')
    endSessions(tx, user.id, caller.sessionToken)
    const { address } = caller
    const keysEnded = noteNewPassword(tx, deps, user, { action: 'account.password-changed', address, endKeys })
    return { user: changed, keysEnded }
  })
}

/**
 * What every new password brings: mailed links end, keys when that is wanted, the log has a line, and the owner is told.
 * @returns how many keys ended, null when none was to.
 */
export function noteNewPassword(
  tx: Tx,
  deps: Pick<ChangePasswordDeps, 'clock' | 'mailer' | 'enqueue'>,
  user: UserRow,
  { action, address, endKeys }: { action: string; address: string | null; endKeys: boolean | undefined },
): number | null {
  endEmailTokens(tx, user.id)
  const keysEnded = endKeys ? deleteAllKeys(tx, user.id) : null
  const detail = keysEnded === null ? {} : { keysEnded }
  recordAudit(tx, { actor: user.id, action, target: user.id, detail, address }, deps.clock.now())
  if (deps.mailer.isConfigured) {
    enqueueMail(tx, deps.enqueue, { mail: 'password-changed', userId: user.id, address: user.email })
  }
  return keysEnded
}

/** Somebody else may have set another password while this one was hashed: then the one that was confirmed is worth nothing. */
function replaceHash(tx: Tx, user: UserRow, change: { passwordHash: string; updatedAt: Date }): UserRow | undefined {
  const isUnchanged =
    user.passwordHash === null ? isNull(users.passwordHash) : eq(users.passwordHash, user.passwordHash)
  return tx
    .update(users)
    .set(change)
    .where(and(eq(users.id, user.id), isUnchanged))
    .returning()
    .get()
}
