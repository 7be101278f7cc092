import { eq } from 'drizzle-orm'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { recordAudit } from '../audit/audit.ts'
import { takeAttempt } from '../lockout/throttle.ts'
import { takeEmailToken } from '../mails/email-tokens.ts'
import { enqueueMail, requireMail } from '../mails/send-mail.ts'
import { creditReferral, type ReferralDeps } from '../referrals/referrals.ts'
import { type UserRow, users } from '../users/tables.ts'
import { setEmail } from './change-email.ts'

export type VerifyEmailDeps = ReferralDeps & { db: Db; mailer: Mailer; enqueue: Enqueue }

const PURPOSES = ['verify-email', 'change-email'] as const
const MAILS = { limit: 10, windowMs: 3_600_000 }

/** Mails a new account the link that proves its address, in the closure that makes the account; nothing without mail. */
export function enqueueVerification(
  tx: Tx,
  { mailer, enqueue }: Pick<VerifyEmailDeps, 'mailer' | 'enqueue'>,
  user: Pick<UserRow, 'id' | 'emailVerifiedAt'>,
): void {
  if (mailer.isConfigured && !user.emailVerifiedAt) enqueueMail(tx, enqueue, { mail: 'verify-email', userId: user.id })
}

/**
 * Mails the link again. False when the address is proved already.
 * @throws AppError `unavailable` NOT_CONFIGURED without mail, `limited` after ten an hour, `not_found`.
 */
export async function requestVerification(deps: VerifyEmailDeps, userId: string): Promise<boolean> {
  requireMail(deps.mailer)
  const user = deps.db.select().from(users).where(eq(users.id, userId)).get()
  if (!user) throw new AppError('not_found', 'User not found')
  if (user.emailVerifiedAt) return false
  await takeAttempt(deps, { key: `verify-email:${userId}`, ...MAILS })
  await write(deps.db, (tx) => enqueueMail(tx, deps.enqueue, { mail: 'verify-email', userId }))
  return true
}

/**
 * Follows a link, once: it proves the account's address, or makes the new one the account's.
 * @returns which of the two. @throws AppError `invalid` for a link that is unknown, used or too old, `conflict` when
 * another account has taken the address meanwhile.
 */
export async function verifyEmail(deps: VerifyEmailDeps, token: string): Promise<'verified' | 'changed'> {
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

function finishChange(tx: Tx, deps: VerifyEmailDeps, user: UserRow, email: string): 'changed' {
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
