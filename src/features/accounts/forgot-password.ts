import { and, eq, isNull } from 'drizzle-orm'
import type { Mailer } from '../../adapters/mail.ts'
import type { Clock } from '../../core/clock.ts'
import { sha256 } from '../../core/secrets.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { Enqueue } from '../../jobs/queue.ts'
import { enqueueMail, requireMail } from './send-mail.ts'
import { throttles, users } from './tables.ts'
import { countFailure } from './throttle.ts'

export type ForgotPasswordDeps = { db: Db; clock: Clock; mailer: Mailer; enqueue: Enqueue }

/** What one address gets in an hour; more would help nobody but those who want to annoy its owner. */
const MAILS = { limit: 10, windowMs: 3_600_000 }

/**
 * Has a link mailed to the account with this address. Whether there is one shows in nothing: the same rows are read and
 * written, and the mail is a job's business.
 * @throws AppError `unavailable` NOT_CONFIGURED when there is no mail, for every address alike.
 */
export async function forgotPassword(deps: ForgotPasswordDeps, email: string): Promise<void> {
  requireMail(deps.mailer)
  const user = deps.db
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.email, email), isNull(users.disabledAt)))
    .get()
  await write(deps.db, (tx) => {
    const mayMail = takeMail(tx, deps.clock, `forgot:${sha256(email)}`)
    enqueueMail(tx, deps.enqueue, { mail: 'reset-password', userId: (mayMail && user?.id) || null })
  })
}

/** Beyond the limit mails are left out without a word: a refusal would help whoever wants to keep the owner out. */
function takeMail(tx: Tx, clock: Clock, key: string): boolean {
  const row = tx.select().from(throttles).where(eq(throttles.key, key)).get()
  if (row && row.resetAt > clock.now() && row.count >= MAILS.limit) return false
  countFailure(tx, clock, key, MAILS)
  return true
}
