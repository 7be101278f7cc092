import { and, asc, desc, eq, inArray, lt } from 'drizzle-orm'
import type { Message } from '../../../adapters/channels/messenger.ts'
import type { Mail } from '../../../adapters/mail/mail.ts'
import type { Db } from '../../../db/open.ts'
import { readPage } from '../../../db/pages.ts'
import type { Notice, NoticeEvent, NoticeKind, NoticeList, NoticeQuery } from './schemas.ts'
import { noticeDeliveries, notices } from './tables.ts'

/** Returns one page of an owner's notices, newest first. */
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

type NoticeRow = typeof notices.$inferSelect

const TITLES: Readonly<Record<NoticeKind, string>> = {
  down: 'is down',
  recovered: 'is back online',
  given_up: 'failed',
  cap_near: 'is near its daily limit',
  cap_reached: 'has reached its daily limit',
  approval_wanted: 'needs your approval',
  turn_limited: 'had a turn stopped',
  task_failed: 'failed a task',
  backup_failed: 'A backup failed',
  cost_unusual: 'costs more than usual',
  usage_limit: 'A monthly limit is being used up',
  test: 'Test notification',
}
/** Problems that stay open until the agent runs again. */
export const PROBLEMS: ReadonlySet<NoticeKind> = new Set(['down', 'given_up'])
const URGENT: ReadonlySet<NoticeKind> = new Set(['given_up', 'cap_reached', 'approval_wanted'])

/** Returns a title such as `Ada is down` or `Still: Ada is down`. */
function toTitle({ kind, agentName, reminders }: Pick<NoticeRow, 'kind' | 'agentName' | 'reminders'>): string {
  const title = agentName === null ? TITLES[kind] : `${toOneLine(agentName)} ${TITLES[kind]}`
  return reminders === 0 ? title : `Still: ${title}`
}

export function toNoticeMessage(notice: NoticeRow): Message {
  const { id, kind, agentId, agentName, text, reminders, createdAt, toldAt } = notice
  const data = { id, kind, agentId, agentName, text, reminders, createdAt: createdAt.toISOString() }
  const event: NoticeEvent = { version: 1, type: `notice.${kind}`, timestamp: toldAt.toISOString(), data }
  return {
    // Receivers deduplicate by id, so each reminder needs its own.
    id: reminders === 0 ? id : `${id}_${reminders}`,
    title: toTitle(notice),
    text,
    isUrgent: URGENT.has(kind),
    body: JSON.stringify(event),
    at: toldAt,
  }
}

export function toMail(notice: NoticeRow, to: string, appUrl: string): Mail {
  const subject = toTitle(notice)
  const page = notice.agentId === null ? `${appUrl}/` : `${appUrl}/agents/${encodeURIComponent(notice.agentId)}`
  const end = 'Choose which notifications you receive by email in your account settings.'
  const paragraphs = [notice.text, end].map((line) => `<p>${Bun.escapeHTML(line)}</p>`)
  const html = [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><title>${Bun.escapeHTML(subject)}</title></head>`,
    '<body style="margin:0 auto;max-width:520px;padding:24px;font:16px/1.5 system-ui,sans-serif;color:#18181b">',
    `<h1 style="font-size:20px">${Bun.escapeHTML(subject)}</h1>`,
    paragraphs[0],
    `<p><a href="${Bun.escapeHTML(page)}">Open in Stead</a></p>`,
    paragraphs[1],
    '</body></html>',
    '',
  ].join('\n')
  return { to, subject, text: `${notice.text}\n\n${page}\n\n${end}\n`, html }
}

/** Removes line breaks, so a name cannot forge further lines of the message. */
export function toOneLine(name: string): string {
  return name.replace(/\p{C}+|\p{Zl}|\p{Zp}/gu, ' ').slice(0, 100)
}
