import { Cron } from 'croner'
import { and, eq, inArray, isNotNull, isNull } from 'drizzle-orm'
import { newId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import type { Base } from '../../base.ts'
import { PROBLEMS } from './notices.ts'
import { type ChangeNoticeSettings, MAIL_CHANNEL, type NoticeKind } from './schemas.ts'
import { noticeChannels, noticeDeliveries, noticeSettings, notices } from './tables.ts'

/** Sends the pending notices of one channel. */
export const NOTICE_JOB = 'notices.send'

/** An event for an agent's owner; `text` is one sentence. */
export type OwnerNotice = {
  userId: string
  agent: { id: string; name: string } | null
  kind: Exclude<NoticeKind, 'test'>
  text: string
}

/** Enqueues a notice in the caller's transaction. */
export type SendNotice = (tx: Tx, news: OwnerNotice) => void

/**
 * Stores a notice and schedules it on every channel that wants its kind, after quiet hours. An open problem is reported
 * once; one that ends before any delivery is not reported.
 */
export function createSendNotice({ clock, enqueue }: Base): SendNotice {
  return (tx, news) => {
    const { userId, agent, kind, text } = news
    const preferences = findNoticePreferences(tx, userId)
    if (agent && preferences.mutedAgents.includes(agent.id)) return
    const now = clock.now()
    if (kind === 'recovered' && !(agent && endProblems(tx, agent.id, now))) return
    if (PROBLEMS.has(kind) && agent && hasOpenNotice(tx, agent.id, kind)) return
    const id = newId('ntc')
    tx.insert(notices)
      .values({
        id,
        userId,
        agentId: agent?.id ?? null,
        agentName: agent?.name ?? null,
        kind,
        text,
        createdAt: now,
        toldAt: now,
      })
      .run()
    const dueAt = afterQuietHours(preferences.quietHours, now)
    for (const channelId of listWanting(tx, userId, kind, preferences)) {
      tx.insert(noticeDeliveries).values({ noticeId: id, channelId, dueAt }).run()
      enqueueChannel(tx, enqueue, { userId, channelId }, dueAt.getTime() - now.getTime())
    }
  }
}

/** One job per channel, regardless of the number of pending notices. */
export function enqueueChannel(
  tx: Tx,
  enqueue: Enqueue,
  channel: { userId: string; channelId: string },
  delayMs: number,
): void {
  const { userId, channelId } = channel
  enqueue(tx, NOTICE_JOB, channel, { key: `notices:${userId}:${channelId}`, delayMs, share: userId })
}

function listWanting(tx: Tx, userId: string, kind: NoticeKind, { mailKinds }: NoticePreferences): string[] {
  const channels = tx.select().from(noticeChannels).where(eq(noticeChannels.userId, userId)).all()
  const wanting = channels.filter(({ kinds }) => kinds.includes(kind)).map(({ id }) => id)
  return mailKinds.includes(kind) ? [MAIL_CHANNEL, ...wanting] : wanting
}

/** Ends the open problems of an agent. @returns whether one had been delivered: only then is the recovery reported. */
function endProblems(tx: Tx, agentId: string, now: Date): boolean {
  const isOpenProblem = and(eq(notices.agentId, agentId), isNull(notices.endedAt), inArray(notices.kind, [...PROBLEMS]))
  const open = tx.update(notices).set({ endedAt: now }).where(isOpenProblem).returning({ id: notices.id }).all()
  const ids = open.map(({ id }) => id)
  const ofThem = inArray(noticeDeliveries.noticeId, ids)
  tx.delete(noticeDeliveries)
    .where(and(ofThem, isNull(noticeDeliveries.sentAt)))
    .run()
  return (
    tx
      .select()
      .from(noticeDeliveries)
      .where(and(ofThem, isNotNull(noticeDeliveries.sentAt)))
      .get() !== undefined
  )
}

function hasOpenNotice(tx: Tx, agentId: string, kind: NoticeKind): boolean {
  const isThis = and(eq(notices.agentId, agentId), eq(notices.kind, kind), isNull(notices.endedAt))
  return tx.select({ id: notices.id }).from(notices).where(isThis).get() !== undefined
}

/** Kinds mailed by default: those that need the owner's attention. */
const MAILED: readonly NoticeKind[] = [
  'given_up',
  'cap_near',
  'cap_reached',
  'approval_wanted',
  'turn_limited',
  'task_failed',
  'backup_failed',
  'cost_unusual',
]

type NoticePreferences = {
  mailKinds: readonly NoticeKind[]
  quietHours: QuietHours | null
  resendMinutes: number | null
  mutedAgents: readonly string[]
}

export function findNoticePreferences(db: Db, userId: string): NoticePreferences {
  const row = db.select().from(noticeSettings).where(eq(noticeSettings.userId, userId)).get()
  if (!row) return { mailKinds: MAILED, quietHours: null, resendMinutes: null, mutedAgents: [] }
  const { mailKinds, quietFrom, quietTo, timeZone, resendMinutes, mutedAgents } = row
  const quietHours = quietFrom && quietTo ? { from: quietFrom, to: quietTo, timeZone } : null
  return { mailKinds, quietHours, resendMinutes, mutedAgents }
}

export async function changeNoticePreferences(
  { db, clock }: Base,
  userId: string,
  change: ChangeNoticeSettings,
): Promise<void> {
  await write(db, (tx) => {
    const before = findNoticePreferences(tx, userId)
    const row = { ...toColumns(before, change), updatedAt: clock.now() }
    tx.insert(noticeSettings)
      .values({ userId, ...row })
      .onConflictDoUpdate({ target: noticeSettings.userId, set: row })
      .run()
  })
}

function toColumns(before: ReturnType<typeof findNoticePreferences>, change: ChangeNoticeSettings) {
  const quietHours = change.quietHours === undefined ? before.quietHours : change.quietHours
  return {
    mailKinds: [...(change.mailKinds ?? before.mailKinds)],
    quietFrom: quietHours?.from ?? null,
    quietTo: quietHours?.to ?? null,
    timeZone: quietHours?.timeZone ?? 'UTC',
    resendMinutes: change.resendMinutes === undefined ? before.resendMinutes : change.resendMinutes,
    mutedAgents: [...(change.mutedAgents ?? before.mutedAgents)],
  }
}

/** From `HH:MM` to `HH:MM` in a time zone, past midnight when `to` is earlier. */
type QuietHours = { from: string; to: string; timeZone: string }

/** Returns the end of the quiet hours if `now` is inside them, else `now`. */
export function afterQuietHours(quiet: QuietHours | null, now: Date): Date {
  if (!quiet) return now
  const end = nextAt(quiet.to, quiet.timeZone, now)
  // If the next end comes before the next start, now is inside the quiet hours.
  return end < nextAt(quiet.from, quiet.timeZone, now) ? end : now
}

function nextAt(time: string, timezone: string, now: Date): Date {
  const [hour, minute] = time.split(':')
  return new Cron(`${Number(minute)} ${Number(hour)} * * *`, { timezone }).nextRun(now) ?? now
}
