import { and, asc, eq, isNull, lt, sql } from 'drizzle-orm'
import type { Sent } from '../../../adapters/egress/outbound.ts'
import { addDays, type Clock } from '../../../core/clock.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import type { Channel } from './channels.ts'
import { type ChannelName, Notification } from './schemas.ts'
import { notificationDeliveries } from './tables.ts'

/** Sends what waits for one channel; `jobs.ts` does it. */
export const NOTIFY_JOB = 'notifications.send'
/** With the queue's pauses that is an hour and a half: a receiver may be restarted meanwhile. */
export const MAX_ATTEMPTS = 24

export type NotifyDeps = { clock: Clock; enqueue: Enqueue; channels: readonly Channel[] }
export type DeliverDeps = { db: Db; clock: Clock; channels: readonly Channel[] }

const KEPT_DAYS = 30

/**
 * Asks for `notification` on every channel, in the closure of its cause and once for its id. A channel has one job however
 * much waits for it: a receiver that does not answer holds up nothing else.
 */
export function enqueueNotification(deps: NotifyDeps, tx: Tx, notification: Notification): void {
  const { id: notificationId, kind, agent } = notification
  for (const { name: channel } of deps.channels) {
    tx.insert(notificationDeliveries)
      .values({ notificationId, channel, kind, agentId: agent?.id ?? null, notification, createdAt: deps.clock.now() })
      .onConflictDoNothing()
      .run()
    deps.enqueue(tx, NOTIFY_JOB, { channel }, { key: `notify:channel:${channel}` })
  }
}

/**
 * Sends what waits for a channel, oldest first, and notes how it went. One that its receiver refuses does not hold up
 * those behind it; a receiver that is away is left in peace until the next attempt.
 * @throws Error when something was not taken: the queue tries again.
 */
export async function deliverWaiting(deps: DeliverDeps, name: ChannelName, signal: AbortSignal): Promise<void> {
  const channel = deps.channels.find((one) => one.name === name)
  if (!channel) return
  let problem: string | null = null
  for (const { sequence, notification } of listWaiting(deps.db, name)) {
    signal.throwIfAborted()
    const sent = await channel.send(Notification.parse(notification), signal)
    await write(deps.db, (tx) => noteAttempt(tx, sequence, sent, deps.clock.now()))
    problem = sent.error ?? problem
    if (isAway(sent)) break
  }
  if (problem !== null) throw new Error(`${name} ${problem}`)
}

export async function deleteOldDeliveries(
  { db, clock }: { db: Db; clock: Clock },
  signal?: AbortSignal,
): Promise<void> {
  const oldest = addDays(clock.now(), -KEPT_DAYS)
  await deleteInBatches(db, notificationDeliveries, lt(notificationDeliveries.createdAt, oldest), signal)
}

function listWaiting(db: Db, channel: ChannelName) {
  const isWaiting = and(
    eq(notificationDeliveries.channel, channel),
    isNull(notificationDeliveries.deliveredAt),
    lt(notificationDeliveries.attempts, MAX_ATTEMPTS),
  )
  return db
    .select({ sequence: notificationDeliveries.sequence, notification: notificationDeliveries.notification })
    .from(notificationDeliveries)
    .where(isWaiting)
    .orderBy(asc(notificationDeliveries.sequence))
    .all()
}

function isAway({ status, error }: Sent): boolean {
  return error !== null && (status === null || status === 429 || status >= 500)
}

function noteAttempt(tx: Tx, sequence: number, { status, error }: Sent, now: Date): void {
  const attempts = sql`${notificationDeliveries.attempts} + 1`
  tx.update(notificationDeliveries)
    .set({ attempts, status, error, deliveredAt: error === null ? now : null })
    .where(eq(notificationDeliveries.sequence, sequence))
    .run()
}
