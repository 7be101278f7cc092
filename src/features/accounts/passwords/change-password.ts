import { and, eq, isNull } from 'drizzle-orm'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { addressKey } from '../../../http/address.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { recordAudit } from '../audit/audit.ts'
import { deleteAllKeys } from '../keys/keys.ts'
import type { KnownDevices, Visitor } from '../lockout/known-devices.ts'
import { forgetFailedLogins } from '../lockout/login-attempts.ts'
import { countFailure, hasAttempt, type Throttle } from '../lockout/throttle.ts'
import { type EmailToken, endEmailTokens, findEmailToken, takeEmailToken } from '../notifications/email-tokens.ts'
import { enqueueMail, requireMail } from '../notifications/send-mail.ts'
import { creditReferral, type ReferralDeps } from '../referrals/referrals.ts'
import { requireRecentSignIn } from '../sessions/session-list.ts'
import { endSessions } from '../sessions/sessions.ts'
import { type UserRow, users } from '../users/tables.ts'
import { confirmPassword } from './confirm-password.ts'
import { type Passwords, requireUncommon } from './passwords.ts'
import type { ChangePasswordRequest, ResetPasswordRequest } from './schemas.ts'

export type ChangePasswordDeps = { db: Db; clock: Clock; passwords: Passwords; mailer: Mailer; enqueue: Enqueue }

/** The one who asks: the session stays when all others end. */
type SessionCaller = { userId: string; sessionToken: string | undefined; address: string | null }

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
function noteNewPassword(
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

type ForgotPasswordDeps = { db: Db; clock: Clock; mailer: Mailer; enqueue: Enqueue; knownDevices: KnownDevices }

const HOUR_MS = 3_600_000
/** What one mailbox gets for one caller, or for one known device of its owner. */
const MAILS_PER_CALLER = { limit: 5, windowMs: HOUR_MS }
/** What it gets for all strangers together; more would help nobody but those who want to annoy its owner. */
const MAILS = { limit: 10, windowMs: HOUR_MS }

/**
 * Has a link mailed to the account with this address. Whether there is one shows in nothing: the same rows are read and
 * written, and the mail is a job's business. What strangers ask for does not use up what a known device may.
 * @throws AppError `unavailable` NOT_CONFIGURED when there is no mail, for every address alike.
 */
export async function forgotPassword(deps: ForgotPasswordDeps, email: string, visitor: Visitor): Promise<void> {
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

/** Beyond the limit mails are left out without a word: a refusal would help whoever wants to keep the owner out. */
function takeMail(tx: Tx, clock: Clock, throttles: Throttle[]): boolean {
  if (!throttles.every((throttle) => hasAttempt(tx, clock, throttle))) return false
  for (const throttle of throttles) countFailure(tx, clock, throttle)
  return true
}
