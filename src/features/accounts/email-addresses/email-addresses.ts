import { and, eq, ne } from 'drizzle-orm'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import type { Base } from '../../base.ts'
import { recordAudit } from '../audit/audit.ts'
import { takeAttempt } from '../lockout/throttle.ts'
import { endEmailTokens, issueEmailToken, takeEmailToken } from '../notifications/email-tokens.ts'
import { enqueueMail, requireMail } from '../notifications/send-mail.ts'
import type { GrantCredits } from '../referrals/referrals.ts'
import { creditReferral } from '../referrals/referrals.ts'
import { type UserRow, users } from '../users/tables.ts'

/**
 * Starts a change of address in the caller's transaction. With mail the new address must be confirmed by a link and the
 * old one is notified; without mail the change is immediate and unverified. The current address cancels a pending
 * change.
 * @throws AppError `conflict` when another account has the address.
 */
export function changeEmail(tx: Tx, deps: Base & { mailer: Mailer }, user: UserRow, email: string): void {
  const now = deps.clock.now()
  requireFreeFor(tx, user.id, email)
  if (email === user.email) endEmailTokens(tx, user.id, 'change-email')
  else if (deps.mailer.isConfigured) askNewAddress(tx, deps, user, email)
  else setEmail(tx, user, { email, emailVerifiedAt: null }, now)
}

function askNewAddress(tx: Tx, deps: Base, user: UserRow, email: string): void {
  const now = deps.clock.now()
  // Records the pending address; the mail job creates the token of the link.
  issueEmailToken(tx, { userId: user.id, purpose: 'change-email', email }, now)
  enqueueMail(tx, deps.enqueue, { mail: 'change-email', userId: user.id })
  enqueueMail(tx, deps.enqueue, { mail: 'email-change-asked', userId: user.id, address: user.email })
  recordAudit(tx, { actor: user.id, action: 'account.email-change-asked', target: user.id }, now)
}

/** Sets the new address and ends links mailed to the old one. @throws AppError `conflict`. */
function setEmail(tx: Tx, user: UserRow, change: Pick<UserRow, 'email' | 'emailVerifiedAt'>, now: Date): void {
  requireFreeFor(tx, user.id, change.email)
  endEmailTokens(tx, user.id)
  tx.update(users)
    .set({ ...change, updatedAt: now })
    .where(eq(users.id, user.id))
    .run()
  recordAudit(tx, { actor: user.id, action: 'account.email-changed', target: user.id }, now)
}

function requireFreeFor(db: Db, userId: string, email: string): void {
  const isTaken = and(eq(users.email, email), ne(users.id, userId))
  if (db.select({ id: users.id }).from(users).where(isTaken).get()) {
    throw new AppError('conflict', 'Email already in use')
  }
}

const PURPOSES = ['verify-email', 'change-email'] as const
const MAILS = { limit: 10, windowMs: 3_600_000 }

/** Enqueues the verification mail in the transaction that creates the account, if mail is configured. */
export function enqueueVerification(
  tx: Tx,
  { mailer, enqueue }: { enqueue: Enqueue; mailer: Mailer },
  user: Pick<UserRow, 'id' | 'emailVerifiedAt'>,
): void {
  if (mailer.isConfigured && !user.emailVerifiedAt) enqueueMail(tx, enqueue, { mail: 'verify-email', userId: user.id })
}

/**
 * Mails the verification link again.
 * @returns false when the address is already verified.
 * @throws AppError `unavailable` NOT_CONFIGURED without mail, `limited` after ten per hour, `not_found`.
 */
export async function requestVerification(deps: Base & { mailer: Mailer }, userId: string): Promise<boolean> {
  requireMail(deps.mailer)
  const user = deps.db.select().from(users).where(eq(users.id, userId)).get()
  if (!user) throw new AppError('not_found', 'User not found')
  if (user.emailVerifiedAt) return false
  await takeAttempt(deps, { key: `verify-email:${userId}`, ...MAILS })
  await write(deps.db, (tx) => enqueueMail(tx, deps.enqueue, { mail: 'verify-email', userId }))
  return true
}

/**
 * Follows a link once: verifies the account's address or changes it.
 * @returns which of the two.
 * @throws AppError `invalid` for an unknown, used or expired link, `conflict` when another account has taken the
 * address.
 */
export async function verifyEmail(
  deps: Base & { grantCredits: GrantCredits; mailer: Mailer },
  token: string,
): Promise<'verified' | 'changed'> {
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const link = takeEmailToken(tx, token, PURPOSES, now)
    const user = link && tx.select().from(users).where(eq(users.id, link.userId)).get()
    if (!link || !user) throw invalidLink()
    if (link.purpose === 'change-email') return finishChange(tx, deps, user, link.email)
    if (user.email !== link.email) throw invalidLink()
    tx.update(users).set({ emailVerifiedAt: now, updatedAt: now }).where(eq(users.id, user.id)).run()
    recordAudit(tx, { actor: user.id, action: 'account.email-verified', target: user.id }, now)
    creditReferral(tx, deps, user.id)
    return 'verified'
  })
}

function finishChange(
  tx: Tx,
  deps: Base & { grantCredits: GrantCredits; mailer: Mailer },
  user: UserRow,
  email: string,
): 'changed' {
  const now = deps.clock.now()
  setEmail(tx, user, { email, emailVerifiedAt: now }, now)
  creditReferral(tx, deps, user.id)
  if (deps.mailer.isConfigured) {
    enqueueMail(tx, deps.enqueue, { mail: 'email-changed', userId: user.id, address: user.email })
  }
  return 'changed'
}

function invalidLink(): AppError {
  return new AppError('invalid', 'Invalid or expired verification link')
}
