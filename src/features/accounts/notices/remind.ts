import { and, eq, inArray, isNull, sql } from 'drizzle-orm'
import { addDays, type Clock } from '../../../core/clock.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { PROBLEMS } from './compose.ts'
import { afterQuietHours } from './quiet-hours.ts'
import { findWishes } from './settings.ts'
import { noticeDeliveries, noticeSettings, notices } from './tables.ts'
import { enqueueChannel } from './tell.ts'

export type RemindDeps = { db: Db; clock: Clock; enqueue: Enqueue }

const KEPT_DAYS = 90

/** Tells again of problems that last, where their owners want that. */
export async function remindOwners({ db, clock, enqueue }: RemindDeps): Promise<void> {
  const now = clock.now()
  const isOpen = and(isNull(notices.endedAt), inArray(notices.kind, [...PROBLEMS]))
  const isDue = sql`${notices.toldAt} + ${noticeSettings.resendMinutes} * 60000 <= ${now.getTime()}`
  const due = db
    .select({ notice: notices })
    .from(notices)
    .innerJoin(noticeSettings, eq(noticeSettings.userId, notices.userId))
    .where(and(isOpen, isDue))
    .all()
  if (due.length === 0) return
  await write(db, (tx) => {
    for (const { notice } of due) remind(tx, enqueue, notice, now)
  })
}

function remind(tx: Tx, enqueue: Enqueue, { id, userId, reminders }: typeof notices.$inferSelect, now: Date): void {
  const dueAt = afterQuietHours(findWishes(tx, userId).quietHours, now)
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

/** Forgets what was told long ago and is over. */
export async function deleteOldNotices({ db, clock }: { db: Db; clock: Clock }, signal: AbortSignal): Promise<void> {
  const oldest = addDays(clock.now(), -KEPT_DAYS)
  await deleteInBatches(db, notices, sql`${notices.createdAt} < ${oldest.getTime()}`, signal)
}
