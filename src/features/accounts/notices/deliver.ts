import { and, asc, eq, isNull, lt, lte, sql } from 'drizzle-orm'
import type { Messenger, Recipient } from '../../../adapters/channels/messenger.ts'
import type { Sent } from '../../../adapters/egress/outbound.ts'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Clock } from '../../../core/clock.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { users } from '../users/tables.ts'
import { isWalletEmail } from '../users/wallet-email.ts'
import { toMail, toMessage } from './compose.ts'
import { MAIL } from './schemas.ts'
import { noticeChannels, noticeDeliveries, notices } from './tables.ts'

/** With the queue's pauses that is an hour and a half: a receiver may be restarted meanwhile. */
export const MAX_ATTEMPTS = 24

export type DeliverDeps = {
  db: Db
  clock: Clock
  sealer: Sealer
  mailer: Mailer
  appUrl: string
  signUp: { walletEmailDomain: string }
  openMessenger: (recipient: Recipient) => Messenger
}

type NoticeRow = typeof notices.$inferSelect
type Send = (notice: NoticeRow, signal: AbortSignal) => Promise<Sent>

/**
 * Sends what is due on a channel of somebody, oldest first, and notes how it went.
 * @throws Error when something was not taken: the queue tries again.
 */
export async function deliverNotices(
  deps: DeliverDeps,
  { userId, channelId }: { userId: string; channelId: string },
  signal: AbortSignal,
): Promise<void> {
  const send = channelId === MAIL ? openMail(deps, userId) : openChannel(deps, userId, channelId)
  if (!send) return
  let problem: string | null = null
  for (const notice of listDue(deps, userId, channelId)) {
    signal.throwIfAborted()
    const { error } = await send(notice, signal)
    await noteAttempt(deps, notice.id, channelId, error)
    problem = error ?? problem
  }
  if (problem !== null) throw new Error(`A channel of notices ${problem}`)
}

/** Null for a channel that is gone. */
export function openChannel(deps: DeliverDeps, userId: string, channelId: string): Send | null {
  const isThis = and(eq(noticeChannels.id, channelId), eq(noticeChannels.userId, userId))
  const channel = deps.db.select().from(noticeChannels).where(isThis).get()
  if (!channel) return null
  const messenger = deps.openMessenger(openRecipient(deps.sealer, channel))
  return (notice, signal) => messenger(toMessage(notice), signal)
}

export function openRecipient(
  sealer: Sealer,
  { id, sealedRecipient }: { id: string; sealedRecipient: string },
): Recipient {
  return JSON.parse(sealer.unseal(sealedRecipient, `notice_channels:${id}`))
}

/** Null where no mail leaves, and for an address that stands for a wallet. */
export function openMail({ db, mailer, appUrl, signUp }: DeliverDeps, userId: string): Send | null {
  const user = db.select({ email: users.email }).from(users).where(eq(users.id, userId)).get()
  if (!user || !mailer.isConfigured || isWalletEmail(user.email, signUp.walletEmailDomain)) return null
  return async (notice, signal) => {
    try {
      await mailer.send(toMail(notice, user.email, appUrl), signal)
      return { status: null, error: null }
    } catch (error) {
      signal.throwIfAborted()
      return { status: null, error: errorMessage(error) }
    }
  }
}

function listDue({ db, clock }: DeliverDeps, userId: string, channelId: string): NoticeRow[] {
  const isDue = and(
    eq(notices.userId, userId),
    eq(noticeDeliveries.channelId, channelId),
    isNull(noticeDeliveries.sentAt),
    lt(noticeDeliveries.attempts, MAX_ATTEMPTS),
    lte(noticeDeliveries.dueAt, clock.now()),
  )
  return db
    .select({ notice: notices })
    .from(noticeDeliveries)
    .innerJoin(notices, eq(notices.id, noticeDeliveries.noticeId))
    .where(isDue)
    .orderBy(asc(notices.sequence))
    .all()
    .map(({ notice }) => notice)
}

async function noteAttempt({ db, clock }: DeliverDeps, noticeId: string, channelId: string, error: string | null) {
  const now = clock.now()
  await write(db, (tx) => {
    tx.update(noticeDeliveries)
      .set({ attempts: sql`${noticeDeliveries.attempts} + 1`, error, sentAt: error === null ? now : null })
      .where(and(eq(noticeDeliveries.noticeId, noticeId), eq(noticeDeliveries.channelId, channelId)))
      .run()
    tx.update(noticeChannels)
      .set({ lastError: error, ...(error === null && { lastSentAt: now }) })
      .where(eq(noticeChannels.id, channelId))
      .run()
  })
}
