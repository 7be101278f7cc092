import { and, eq, ne } from 'drizzle-orm'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { recordAudit } from '../audit/audit.ts'
import { endEmailTokens, issueEmailToken } from '../mails/email-tokens.ts'
import { enqueueMail } from '../mails/send-mail.ts'
import { type UserRow, users } from '../users/tables.ts'

export type ChangeEmailDeps = { clock: Clock; mailer: Mailer; enqueue: Enqueue }

/**
 * Begins the change of an account's address in the caller's closure. With mail it waits for the link that goes to the
 * new address, and the old one is told; without mail it is done at once, unproved. The address it has calls a change off.
 * @throws AppError `conflict` when another account has the address.
 */
export function changeEmail(tx: Tx, deps: ChangeEmailDeps, user: UserRow, email: string): void {
  const now = deps.clock.now()
  requireFreeFor(tx, user.id, email)
  if (email === user.email) endEmailTokens(tx, user.id, 'change-email')
  else if (deps.mailer.isConfigured) askNewAddress(tx, deps, user, email)
  else setEmail(tx, user, { email, emailVerifiedAt: null }, now)
}

function askNewAddress(tx: Tx, deps: ChangeEmailDeps, user: UserRow, email: string): void {
  const now = deps.clock.now()
  // The row says what is pending; the link's own token is made when the mail is sent.
  issueEmailToken(tx, { userId: user.id, purpose: 'change-email', email }, now)
  enqueueMail(tx, deps.enqueue, { mail: 'change-email', userId: user.id })
  enqueueMail(tx, deps.enqueue, { mail: 'email-change-asked', userId: user.id, address: user.email })
  recordAudit(tx, { actor: user.id, action: 'account.email-change-asked', target: user.id }, now)
}

/** Gives the account its new address; links that were mailed to the old one end. @throws AppError `conflict`. */
export function setEmail(tx: Tx, user: UserRow, change: Pick<UserRow, 'email' | 'emailVerifiedAt'>, now: Date): void {
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
