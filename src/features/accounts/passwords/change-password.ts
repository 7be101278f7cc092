import { and, eq, isNull } from 'drizzle-orm'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { addressKey } from '../../../http/address.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import type { Base } from '../../base.ts'
import { recordAudit } from '../audit/audit.ts'
import { deleteAllKeys } from '../keys/keys.ts'
import type { KnownDevices, Visitor } from '../lockout/known-devices.ts'
import { forgetFailedLogins } from '../lockout/login-attempts.ts'
import { countFailure, hasAttempt, type Throttle } from '../lockout/throttle.ts'
import { type EmailToken, endEmailTokens, findEmailToken, takeEmailToken } from '../notifications/email-tokens.ts'
import { enqueueMail, requireMail } from '../notifications/send-mail.ts'
import type { GrantCredits } from '../referrals/referrals.ts'
import { creditReferral } from '../referrals/referrals.ts'
import { endSessions, requireRecentSignIn } from '../sessions/sessions.ts'
import { type UserRow, users } from '../users/tables.ts'
import { confirmPassword, type Passwords, requireUncommon } from './passwords.ts'
import type { ChangePasswordRequest, ResetPasswordRequest } from './schemas.ts'

/** The caller, whose session stays when all others end. */
type SessionCaller = { userId: string; sessionToken: string | undefined; address: string | null }

/**
 * Sets a new password and ends all other sessions, mailed links and device tokens. An account without a password sets
 * its first one after a recent sign-in.
 * @returns the updated account and the number of deleted API keys, null when none were to be deleted.
 * @throws AppError `invalid` for a missing or common password, `unauthenticated` for a wrong current one, `limited`
 * after ten of those, `not_found`.
 */
export async function changePassword(
  deps: Base & { passwords: Passwords; mailer: Mailer },
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
 * Ends mailed links, optionally deletes API keys, records the change and notifies the owner.
 * @returns the number of deleted keys, null when none were to be deleted.
 */
function noteNewPassword(
  tx: Tx,
  deps: { clock: Clock; enqueue: Enqueue; mailer: Mailer },
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

/** Fails if another request changed the password while this one was hashed. */
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

const PURPOSES = ['reset-password'] as const

/**
 * Sets a password by a mailed link. Ends all sessions and other links, and marks the address as verified. `address` is
 * the caller's IP address.
 * @returns the number of deleted keys, null when none were to be deleted.
 * @throws AppError `invalid` for a common password and for an unknown, used or expired link.
 */
export async function resetPasswordByLink(
  deps: Base & { passwords: Passwords; mailer: Mailer; grantCredits: GrantCredits },
  { token, password, endKeys }: ResetPasswordRequest,
  address: string | null,
): Promise<number | null> {
  requireUncommon(password)
  // Check first, so invalid tokens cost no hashing; the transaction checks again.
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

/** Returns undefined when the account's address has changed: the link proves only the address it was mailed to. */
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

const HOUR_MS = 3_600_000
/** Mails per mailbox and caller, or per known device of the owner. */
const MAILS_PER_CALLER = { limit: 5, windowMs: HOUR_MS }
/** Mails per mailbox for all unknown clients together, so they cannot flood its owner. */
const MAILS = { limit: 10, windowMs: HOUR_MS }

/**
 * Mails a reset link. Reads and writes the same rows whether or not the account exists, and a job sends the mail, so
 * nothing reveals its existence. Requests by unknown clients do not use up a known device's limit.
 * @throws AppError `unavailable` NOT_CONFIGURED without mail, for every address.
 */
export async function forgotPassword(
  deps: Base & { mailer: Mailer; knownDevices: KnownDevices },
  email: string,
  visitor: Visitor,
): Promise<void> {
  requireMail(deps.mailer)
  const user = deps.db
    .select()
    .from(users)
    .where(and(eq(users.email, email), isNull(users.disabledAt)))
    .get()
  const device = user ? deps.knownDevices.find(visitor.markOf(user.id), user) : null
  await write(deps.db, (tx) => {
    const mayMail = takeMail(tx, deps.clock, throttlesOf(email, visitor.address, device))
    enqueueMail(tx, deps.enqueue, { mail: 'reset-password', userId: (mayMail && user?.id) || null })
  })
}

function throttlesOf(email: string, address: string | null, device: string | null): Throttle[] {
  const key = `forgot:${sha256(email)}`
  if (device !== null) return [{ key: `${key}:device:${device}`, ...MAILS_PER_CALLER }]
  return [
    { key: `${key}:address:${addressKey(address)}`, ...MAILS_PER_CALLER },
    { key, ...MAILS },
  ]
}

/** Skips mails beyond the limit silently: an error would help an attacker keep the owner out. */
function takeMail(tx: Tx, clock: Clock, throttles: Throttle[]): boolean {
  if (!throttles.every((throttle) => hasAttempt(tx, clock, throttle))) return false
  for (const throttle of throttles) countFailure(tx, clock, throttle)
  return true
}
