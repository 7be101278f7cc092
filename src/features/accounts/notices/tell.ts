import { and, eq, inArray, isNotNull, isNull } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { newId } from '../../../core/ids.ts'
import type { Tx } from '../../../db/open.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { PROBLEMS } from './compose.ts'
import { afterQuietHours } from './quiet-hours.ts'
import { MAIL, type NoticeKind } from './schemas.ts'
import { findWishes, type Wishes } from './settings.ts'
import { noticeChannels, noticeDeliveries, notices } from './tables.ts'

/** Sends what waits for one channel; `jobs.ts` does it. */
export const NOTICE_JOB = 'notices.send'

/** Something an owner wants to know, in a sentence. */
export type News = {
  userId: string
  agent: { id: string; name: string } | null
  kind: Exclude<NoticeKind, 'test'>
  text: string
}

/** Tells an owner in the closure of the cause. */
export type TellOwner = (tx: Tx, news: News) => void

/**
 * Puts news on its way to every channel of its owner that wants them, after quiet hours if need be. A problem is told once
 * while it lasts; one that ends before anybody was told of it is not told at all.
 */
export function createTellOwner({ clock, enqueue }: { clock: Clock; enqueue: Enqueue }): TellOwner {
  return (tx, news) => {
    const { userId, agent, kind, text } = news
    const wishes = findWishes(tx, userId)
    if (agent && wishes.mutedAgents.includes(agent.id)) return
    const now = clock.now()
    if (kind === 'recovered' && !(agent && endProblems(tx, agent.id, now))) return
    if (PROBLEMS.has(kind) && agent && isOpen(tx, agent.id, kind)) return
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
    const dueAt = afterQuietHours(wishes.quietHours, now)
    for (const channelId of listWanting(tx, userId, kind, wishes)) {
      tx.insert(noticeDeliveries).values({ noticeId: id, channelId, dueAt }).run()
      enqueueChannel(tx, enqueue, { userId, channelId }, dueAt.getTime() - now.getTime())
    }
  }
}

/** One job a channel, however much waits for it. */
export function enqueueChannel(
  tx: Tx,
  enqueue: Enqueue,
  channel: { userId: string; channelId: string },
  delayMs: number,
): void {
  const { userId, channelId } = channel
  enqueue(tx, NOTICE_JOB, channel, { key: `notices:${userId}:${channelId}`, delayMs, share: userId })
}

function listWanting(tx: Tx, userId: string, kind: NoticeKind, { mailKinds }: Wishes): string[] {
  const channels = tx.select().from(noticeChannels).where(eq(noticeChannels.userId, userId)).all()
  const wanting = channels.filter(({ kinds }) => kinds.includes(kind)).map(({ id }) => id)
  return mailKinds.includes(kind) ? [MAIL, ...wanting] : wanting
}

/** @returns whether somebody was told of one: only then is its end news. */
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

function isOpen(tx: Tx, agentId: string, kind: NoticeKind): boolean {
  const isThis = and(eq(notices.agentId, agentId), eq(notices.kind, kind), isNull(notices.endedAt))
  return tx.select({ id: notices.id }).from(notices).where(isThis).get() !== undefined
}
