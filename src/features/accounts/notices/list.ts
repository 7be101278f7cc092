import { and, asc, desc, eq, inArray, lt } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { readPage } from '../../../db/pages/read-page.ts'
import { toTitle } from './compose.ts'
import type { Notice, NoticeList, NoticeQuery } from './schemas.ts'
import { noticeDeliveries, notices } from './tables.ts'

/** A page of what somebody was told, newest first. */
export function listNotices(db: Db, userId: string, { limit, before }: NoticeQuery): NoticeList {
  const isBefore = before === undefined ? undefined : lt(notices.sequence, before)
  const selection = db
    .select()
    .from(notices)
    .where(and(eq(notices.userId, userId), isBefore))
    .orderBy(desc(notices.sequence))
  const { rows, last } = readPage(selection, limit)
  const deliveries = listDeliveries(
    db,
    rows.map(({ id }) => id),
  )
  return {
    notices: rows.map((row) => toNotice(row, deliveries.get(row.id) ?? [])),
    next: last?.sequence ?? null,
  }
}

type DeliveryRow = typeof noticeDeliveries.$inferSelect

function listDeliveries(db: Db, noticeIds: string[]): Map<string, DeliveryRow[]> {
  const ofThem = inArray(noticeDeliveries.noticeId, noticeIds)
  const rows = db.select().from(noticeDeliveries).where(ofThem).orderBy(asc(noticeDeliveries.channelId)).all()
  return Map.groupBy(rows, ({ noticeId }) => noticeId)
}

function toNotice(row: typeof notices.$inferSelect, deliveries: DeliveryRow[]): Notice {
  const { id, kind, agentId, agentName, text, reminders, createdAt, endedAt } = row
  return {
    ...{ id, kind, agentId, agentName, title: toTitle(row), text, reminders },
    createdAt: createdAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
    deliveries: deliveries.map(({ channelId, dueAt, attempts, error, sentAt }) => ({
      channelId,
      dueAt: dueAt.toISOString(),
      attempts,
      error,
      sentAt: sentAt?.toISOString() ?? null,
    })),
  }
}
