import { and, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { forgetFailedLogins } from '../lockout/guesses.ts'
import { type EmailToken, findEmailToken, takeEmailToken } from '../mails/email-tokens.ts'
import { creditReferral, type ReferralDeps } from '../referrals/referrals.ts'
import { endSessions } from '../sessions/sessions.ts'
import { type UserRow, users } from '../users/tables.ts'
import { type ChangePasswordDeps, noteNewPassword } from './change-password.ts'
import { requireUncommon } from './common-passwords.ts'
import type { ResetPasswordRequest } from './schemas.ts'

const PURPOSES = ['reset-password'] as const

/**
 * Sets the password of the account whose link was followed. All its sessions and other links end, and its address counts
 * as proved. `address` is the caller's, for the audit log.
 * @returns how many keys ended, null when none was to.
 * @throws AppError `invalid` for a common password and for a link that is unknown, used or too old.
 */
export async function resetPasswordByLink(
  deps: ChangePasswordDeps & ReferralDeps,
  { token, password, endKeys }: ResetPasswordRequest,
  address: string | null,
): Promise<number | null> {
  requireUncommon(password)
  // Made-up tokens must not cost the hasher's work; the closure decides.
  if (!findEmailToken(deps.db, token, PURPOSES, deps.clock.now())) throw invalidLink()
  const passwordHash = await deps.passwords.hash(password)
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const link = takeEmailToken(tx, token, PURPOSES, now)
    const user = link && setPassword(tx, link, { passwordHash, emailVerifiedAt: now, updatedAt: now })
    if (!user) throw invalidLink()
    endSessions(tx, user.id)
    forgetFailedLogins(tx, user.email)
    creditReferral(tx, deps, user.id)
    return noteNewPassword(tx, deps, user, { action: 'account.password-reset', address, endKeys })
  })
}

/** Undefined when the account has another address by now: the link proves only the one it was mailed to. */
function setPassword(tx: Tx, link: EmailToken, change: Partial<UserRow>): UserRow | undefined {
  return tx
    .update(users)
    .set(change)
    .where(and(eq(users.id, link.userId), eq(users.email, link.email)))
    .returning()
    .get()
}

function invalidLink(): AppError {
  return new AppError('invalid', 'Invalid or expired reset link')
}
