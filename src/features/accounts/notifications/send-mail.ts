import { and, eq, isNull } from 'drizzle-orm'
import { z } from 'zod'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
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

/** Sends one mail about an account; `jobs.ts` does it. */
export const MAIL_JOB = 'accounts.mail'

/**
 * A mail to send, without what it proves: tokens are made when it is sent, so that no table ever holds one. `userId` is
 * null for mail that nobody gets. Notices go to `address`, which the account may have left by then.
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

type SendMailDeps = {
  db: Db
  clock: Clock
  mailer: Mailer
  appUrl: string
  signUp: { walletEmailDomain: string }
}

/** Asks for the mail in the closure of its cause. Of several links of one kind to one account, only one waits. */
export function enqueueMail(tx: Tx, enqueue: Enqueue, request: MailRequest): void {
  const isLink = !('address' in request) && request.userId !== null
  enqueue(tx, MAIL_JOB, request, isLink ? { key: `mail:${request.mail}:${request.userId}` } : {})
}

/** How a link gets to whoever asked for it: by mail, by the log of whoever runs this, or not at all. */
export function linksGo(mailer: Mailer): LinksGo {
  if (mailer.isConfigured) return 'by-mail'
  return mailer.writesToLog ? 'to-log' : 'nowhere'
}

/** @throws AppError `unavailable` NOT_CONFIGURED when a link could reach nobody: neither mail nor a developer's log. */
export function requireMail(mailer: Mailer): void {
  if (linksGo(mailer) !== 'nowhere') return
  throw new AppError('unavailable', 'Mail is not configured: set SMTP_URL', { code: 'NOT_CONFIGURED' })
}

/** Sends what was asked for, unless it has no reader any more. @throws Error of the mail server. */
async function sendMail(deps: SendMailDeps, request: MailRequest, signal: AbortSignal): Promise<void> {
  if ('address' in request) return sendPlainMail(deps, request.mail, request.address, signal)
  const { mail, userId } = request
  if (userId === null) return
  const sent = await write(deps.db, (tx) => issueLink(tx, deps, mail, userId))
  if (sent) await deps.mailer.send(composeMail(mail, sent.to, { appUrl: deps.appUrl, token: sent.token }), signal)
}

/** Nobody reads mail at the address that stands for a wallet. */
async function sendPlainMail(deps: SendMailDeps, mail: MailName, to: string, signal: AbortSignal): Promise<void> {
  if (!isWalletEmail(to, deps.signUp.walletEmailDomain)) await deps.mailer.send(composeMail(mail, to, null), signal)
}

/** The token is made anew at each attempt: the mail that arrives last has the link that works. */
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

/** Who is to follow the link: null when that has become pointless. */
function findReader(db: Db, purpose: EmailTokenPurpose, user: UserRow, now: Date): string | null {
  if (purpose === 'change-email') return findPendingEmail(db, user.id, now)
  if (purpose === 'verify-email' && user.emailVerifiedAt) return null
  return user.email
}

const CLEAN_UP_MS = 3_600_000
/** With the queue's pauses that is an hour and a half: a mail server may be restarted meanwhile. */
const MAIL_ATTEMPTS = 24

/** Forgets mailed links whose time is over. */
export function emailTokensJob(deps: { db: Db; clock: Clock }): RepeatingJob {
  return {
    name: 'accounts.email-tokens',
    everyMs: CLEAN_UP_MS,
    run: (signal) => deleteExpiredEmailTokens(deps, signal),
  }
}

/** Mails go out here, so that neither a slow mail server nor the existence of an account shows in any request. */
export function mailJob(deps: SendMailDeps): JobKind {
  return defineJob({
    kind: MAIL_JOB,
    payload: MailRequest,
    maxAttempts: MAIL_ATTEMPTS,
    run: (request, signal) => sendMail(deps, request, signal),
  })
}
