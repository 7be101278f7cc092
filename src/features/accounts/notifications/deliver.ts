import { and, asc, eq, inArray, isNull, lt, lte, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Messenger, Recipient } from '../../../adapters/channels/messenger.ts'
import type { Sent } from '../../../adapters/egress/outbound.ts'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import { addDays } from '../../../core/clock.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { users } from '../users/tables.ts'
import { isWalletEmail } from '../users/users.ts'
import { PROBLEMS, toMail, toNoticeMessage } from './notices.ts'
import { MAIL_CHANNEL } from './schemas.ts'
import { afterQuietHours, enqueueChannel, findNoticePreferences, NOTICE_JOB } from './send-notice.ts'
import { noticeChannels, noticeDeliveries, noticeSettings, notices } from './tables.ts'

/** The queue's pauses add up to 1.5 hours, enough for a receiver to restart. */
const MAX_NOTICE_ATTEMPTS = 24

export type NoticeDeps = Base & {
  mailer: Mailer
  appUrl: string
  signUp: { walletEmailDomain: string }
  openMessenger: (recipient: Recipient) => Messenger
}

type NoticeRow = typeof notices.$inferSelect
type Send = (notice: NoticeRow, signal: AbortSignal) => Promise<Sent>

/**
 * Sends due notices of one channel, oldest first, and records the results.
 * @throws Error when a delivery failed, so the queue retries.
 */
async function deliverNotices(
  deps: NoticeDeps,
  { userId, channelId }: { userId: string; channelId: string },
  signal: AbortSignal,
): Promise<void> {
  const send = channelId === MAIL_CHANNEL ? openMail(deps, userId) : openChannel(deps, userId, channelId)
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

/** Returns null for a deleted channel. */
function openChannel(deps: NoticeDeps, userId: string, channelId: string): Send | null {
  const isThis = and(eq(noticeChannels.id, channelId), eq(noticeChannels.userId, userId))
  const channel = deps.db.select().from(noticeChannels).where(isThis).get()
  if (!channel) return null
  const messenger = deps.openMessenger(openRecipient(deps.sealer, channel))
  return (notice, signal) => messenger(toNoticeMessage(notice), signal)
}

export function openRecipient(
  sealer: Sealer,
  { id, sealedRecipient }: { id: string; sealedRecipient: string },
): Recipient {
  return JSON.parse(sealer.unseal(sealedRecipient, `notice_channels:${id}`))
}

/** Returns null when mail is not configured, and for the placeholder address of a wallet. */
export function openMail({ db, mailer, appUrl, signUp }: NoticeDeps, userId: string): Send | null {
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

function listDue({ db, clock }: NoticeDeps, userId: string, channelId: string): NoticeRow[] {
  const isDue = and(
    eq(notices.userId, userId),
    eq(noticeDeliveries.channelId, channelId),
    isNull(noticeDeliveries.sentAt),
    lt(noticeDeliveries.attempts, MAX_NOTICE_ATTEMPTS),
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

async function noteAttempt({ db, clock }: NoticeDeps, noticeId: string, channelId: string, error: string | null) {
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

const KEPT_DAYS = 90

/** Sends reminders of unresolved problems to owners who enabled them. */
export async function remindOwners({ db, clock, enqueue }: Base): Promise<void> {
  const now = clock.now()
  const hasOpenNotice = and(isNull(notices.endedAt), inArray(notices.kind, [...PROBLEMS]))
  const isDue = sql`${notices.toldAt} + ${noticeSettings.resendMinutes} * 60000 <= ${now.getTime()}`
  const due = db
    .select({ notice: notices })
    .from(notices)
    .innerJoin(noticeSettings, eq(noticeSettings.userId, notices.userId))
    .where(and(hasOpenNotice, isDue))
    .all()
  if (due.length === 0) return
  await write(db, (tx) => {
    for (const { notice } of due) remind(tx, enqueue, notice, now)
  })
}

function remind(tx: Tx, enqueue: Enqueue, { id, userId, reminders }: typeof notices.$inferSelect, now: Date): void {
  const dueAt = afterQuietHours(findNoticePreferences(tx, userId).quietHours, now)
  tx.update(notices)
    .set({ toldAt: now, reminders: reminders + 1 })
    .where(and(eq(notices.id, id), isNull(notices.endedAt)))
    .run()
  const again = tx
    .update(noticeDeliveries)
    .set({ dueAt, attempts: 0, sentAt: null, error: null })
    .where(eq(noticeDeliveries.noticeId, id))
    .returning()
    .all()
  for (const { channelId } of again) enqueueChannel(tx, enqueue, { userId, channelId }, dueAt.getTime() - now.getTime())
}

/** Deletes notices older than 90 days. */
async function deleteOldNotices({ db, clock }: Base, signal: AbortSignal): Promise<void> {
  const oldest = addDays(clock.now(), -KEPT_DAYS)
  await deleteInBatches(db, notices, sql`${notices.createdAt} < ${oldest.getTime()}`, signal)
}

const MINUTE_MS = 60_000
const REMINDER_CLEAN_UP_MS = 60 * MINUTE_MS

export function noticeJob(deps: NoticeDeps): JobKind {
  return defineJob({
    kind: NOTICE_JOB,
    payload: z.object({ userId: z.string(), channelId: z.string() }),
    maxAttempts: MAX_NOTICE_ATTEMPTS,
    isSlow: true,
    run: (channel, signal) => deliverNotices(deps, channel, signal),
  })
}

export function remindersJob(deps: Base): RepeatingJob {
  return { name: 'notices.reminders', everyMs: MINUTE_MS, run: () => remindOwners(deps) }
}

export function oldNoticesJob(deps: Base): RepeatingJob {
  return { name: 'notices.old', everyMs: REMINDER_CLEAN_UP_MS, run: (signal) => deleteOldNotices(deps, signal) }
}
