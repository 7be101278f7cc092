import { and, eq, isNull } from 'drizzle-orm'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Clock } from '../../../core/clock.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { addressKey } from '../../../http/address.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import type { KnownDevices, Visitor } from '../lockout/known-devices.ts'
import { countFailure, hasAttempt, type Throttle } from '../lockout/throttle.ts'
import { enqueueMail, requireMail } from '../mails/send-mail.ts'
import { users } from '../users/tables.ts'

export type ForgotPasswordDeps = { db: Db; clock: Clock; mailer: Mailer; enqueue: Enqueue; knownDevices: KnownDevices }

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
