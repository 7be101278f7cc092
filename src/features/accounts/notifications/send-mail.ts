import { and, eq, isNull } from 'drizzle-orm'
import { z } from 'zod'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { type UserRow, users } from '../users/tables.ts'
import { isWalletEmail } from '../users/users.ts'
import {
  deleteExpiredEmailTokens,
  type EmailTokenPurpose,
  FIRST_PASSWORD_MS,
  findPendingEmail,
  issueEmailToken,
} from './email-tokens.ts'
import { composeMail, type MailName } from './mail-texts.ts'
import type { LinksGo } from './schemas.ts'

/** Sends one mail about an account. */
export const MAIL_JOB = 'accounts.mail'

/**
 * A mail to send. Tokens are created when it is sent, so the jobs table never holds one. `userId` is null when the
 * account does not exist. Other mails go to `address`, even if the account has changed it since.
 */
export const MailRequest = z.union([
  z.object({
    mail: z.enum(['account-created', 'reset-password', 'verify-email', 'change-email']),
    userId: z.string().nullable(),
  }),
  z.object({
    mail: z.enum([
      'email-change-asked',
      'email-changed',
      'password-changed',
      'usage-50',
      'usage-80',
      'usage-100',
      'key-usage-50',
      'key-usage-80',
      'key-usage-100',
      'payment-approval-wanted',
      'clone-payment-undone',
      'payment-failed',
      'payment-made-good',
      'grace-ended',
      'subscription-ended',
      'duplicate-subscription',
    ]),
    userId: z.string(),
    address: z.string(),
  }),
])
export type MailRequest = z.infer<typeof MailRequest>

type SendMailDeps = Base & { mailer: Mailer; appUrl: string; signUp: { walletEmailDomain: string } }

/** Enqueues the mail in the caller's transaction. At most one link of each kind is pending per account. */
export function enqueueMail(tx: Tx, enqueue: Enqueue, request: MailRequest): void {
  const isLink = !('address' in request) && request.userId !== null
  enqueue(tx, MAIL_JOB, request, isLink ? { key: `mail:${request.mail}:${request.userId}` } : {})
}

/** Returns how links are delivered. */
export function linksGo(mailer: Mailer): LinksGo {
  if (mailer.isConfigured) return 'by-mail'
  return mailer.writesToLog ? 'to-log' : 'nowhere'
}

/**
 * @throws AppError `unavailable` NOT_CONFIGURED when links can be delivered neither by mail nor by a development log.
 */
export function requireMail(mailer: Mailer): void {
  if (linksGo(mailer) !== 'nowhere') return
  throw new AppError('unavailable', 'Mail is not configured: set SMTP_URL', { code: 'NOT_CONFIGURED' })
}

/** Sends the requested mail unless it has become pointless. @throws Error of the mail server. */
async function sendMail(deps: SendMailDeps, request: MailRequest, signal: AbortSignal): Promise<void> {
  if ('address' in request) return sendPlainMail(deps, request.mail, request.address, signal)
  const { mail, userId } = request
  if (userId === null) return
  const sent = await write(deps.db, (tx) => issueLink(tx, deps, mail, userId))
  if (sent) await deps.mailer.send(composeMail(mail, sent.to, { appUrl: deps.appUrl, token: sent.token }), signal)
}

/** Placeholder addresses of wallets have no mailbox. */
async function sendPlainMail(deps: SendMailDeps, mail: MailName, to: string, signal: AbortSignal): Promise<void> {
  if (!isWalletEmail(to, deps.signUp.walletEmailDomain)) await deps.mailer.send(composeMail(mail, to, null), signal)
}

/** Creates a new token for each attempt, so the link in the last mail works. */
function issueLink(
  tx: Tx,
  deps: SendMailDeps,
  mail: EmailTokenPurpose | 'account-created',
  userId: string,
): { to: string; token: string } | null {
  const now = deps.clock.now()
  const isFirst = mail === 'account-created'
  const purpose = isFirst ? 'reset-password' : mail
  const user = tx
    .select()
    .from(users)
    .where(and(eq(users.id, userId), isNull(users.disabledAt)))
    .get()
  const to = user && findReader(tx, purpose, user, now)
  if (!to || isWalletEmail(to, deps.signUp.walletEmailDomain)) return null
  return {
    to,
    token: issueEmailToken(tx, { userId, purpose, email: to }, now, isFirst ? FIRST_PASSWORD_MS : undefined),
  }
}

/** Returns the recipient, or null when the link has become pointless. */
function findReader(db: Db, purpose: EmailTokenPurpose, user: UserRow, now: Date): string | null {
  if (purpose === 'change-email') return findPendingEmail(db, user.id, now)
  if (purpose === 'verify-email' && user.emailVerifiedAt) return null
  return user.email
}

const CLEAN_UP_MS = 3_600_000
/** The queue's pauses add up to 1.5 hours, enough for a mail server to restart. */
const MAIL_ATTEMPTS = 24

/** Deletes expired mail tokens. */
export function emailTokensJob(deps: Base): RepeatingJob {
  return {
    name: 'accounts.email-tokens',
    everyMs: CLEAN_UP_MS,
    run: (signal) => deleteExpiredEmailTokens(deps, signal),
  }
}

/**
 * Sends mail outside of requests, so response times reveal neither a slow mail server nor whether an account exists.
 */
export function mailJob(deps: SendMailDeps): JobKind {
  return defineJob({
    kind: MAIL_JOB,
    payload: MailRequest,
    maxAttempts: MAIL_ATTEMPTS,
    run: (request, signal) => sendMail(deps, request, signal),
  })
}
