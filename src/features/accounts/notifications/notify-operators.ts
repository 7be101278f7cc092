import { and, asc, eq, isNull, lt, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Telegram, Webhook } from '../../../adapters/channels/messenger.ts'
import type { Sent } from '../../../adapters/egress/outbound.ts'
import { addDays, type Clock } from '../../../core/clock.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { toOneLine } from './notices.ts'
import { Notification, OPERATOR_CHANNELS, type OperatorChannelName, type WatchdogEvent } from './schemas.ts'
import { notificationDeliveries } from './tables.ts'

/** Sends the pending notifications of one channel. */
const NOTIFY_JOB = 'notifications.send'
/** The queue's pauses add up to 1.5 hours, enough for a receiver to restart. */
const MAX_DELIVERY_ATTEMPTS = 24

const KEPT_DAYS = 30

/**
 * Enqueues `notification` for every channel in the caller's transaction, once per id. Each channel has one job, so an
 * unresponsive receiver delays no other channel.
 */
export function enqueueNotification(
  deps: { clock: Clock; enqueue: Enqueue; channels: readonly OperatorChannel[] },
  tx: Tx,
  notification: Notification,
): void {
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
 * Sends the pending notifications of a channel, oldest first, and records the results. A rejected one does not block
 * the next; an unreachable receiver is skipped until the next attempt.
 * @throws Error when a delivery failed, so the queue retries.
 */
async function deliverWaiting(
  deps: Base & { channels: readonly OperatorChannel[] },
  name: OperatorChannelName,
  signal: AbortSignal,
): Promise<void> {
  const channel = deps.channels.find((one) => one.name === name)
  if (!channel) return
  let problem: string | null = null
  for (const { sequence, notification } of listWaiting(deps.db, name)) {
    signal.throwIfAborted()
    const sent = await channel.send(Notification.parse(notification), signal)
    await write(deps.db, (tx) => noteDelivery(tx, sequence, sent, deps.clock.now()))
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

function listWaiting(db: Db, channel: OperatorChannelName) {
  const isWaiting = and(
    eq(notificationDeliveries.channel, channel),
    isNull(notificationDeliveries.deliveredAt),
    lt(notificationDeliveries.attempts, MAX_DELIVERY_ATTEMPTS),
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

function noteDelivery(tx: Tx, sequence: number, { status, error }: Sent, now: Date): void {
  const attempts = sql`${notificationDeliveries.attempts} + 1`
  tx.update(notificationDeliveries)
    .set({ attempts, status, error, deliveredAt: error === null ? now : null })
    .where(eq(notificationDeliveries.sequence, sequence))
    .run()
}

/** A channel to operators. `send` returns the result. @throws the signal's reason when it aborts. */
export type OperatorChannel = {
  readonly name: OperatorChannelName
  send(notification: Notification, signal: AbortSignal): Promise<Sent>
}

/** Returns the configured channels. */
export function createChannels(outside: {
  telegram: Telegram | null
  webhook: Webhook | null
  clock: Clock
}): OperatorChannel[] {
  const { telegram, webhook, clock } = outside
  const channels: OperatorChannel[] = []
  if (telegram) {
    channels.push({
      name: 'telegram',
      send: (notification, signal) => telegram.send(toOperatorText(notification), signal),
    })
  }
  if (webhook) {
    channels.push({
      name: 'webhook',
      send: (notification, signal) =>
        webhook.send({ id: notification.id, body: toWebhookBody(notification) }, clock.now(), signal),
    })
  }
  return channels
}

const CLEAN_UP_MS = 3_600_000

export function notifyJob(deps: Base & { channels: readonly OperatorChannel[] }): JobKind {
  return defineJob({
    kind: NOTIFY_JOB,
    payload: z.object({ channel: z.enum(OPERATOR_CHANNELS) }),
    maxAttempts: MAX_DELIVERY_ATTEMPTS,
    run: ({ channel }, signal) => deliverWaiting(deps, channel, signal),
  })
}

export function deliveriesJob(deps: { db: Db; clock: Clock }): RepeatingJob {
  return { name: 'notifications.deliveries', everyMs: CLEAN_UP_MS, run: (signal) => deleteOldDeliveries(deps, signal) }
}

const OPERATOR_TITLES: Readonly<Record<Notification['kind'], string>> = {
  degraded: '🟡 Agent degraded',
  recovered: '🟢 Agent recovered',
  crash: '🔴 Agent crashed',
  crash_loop: '🔴 CRITICAL: agent in a crash loop',
  repair_started: '🟡 Repair started',
  repaired: '🟢 Agent repaired',
  repair_failed: '🔴 Repair failed',
  host_fault: '🔴 CRITICAL: most agents fail together',
  disk_low: '🔴 CRITICAL: the disk is full',
  disk_recovered: '🟢 The disk has room again',
  test: '🟢 Test notification',
}

export function toOperatorText(notification: Notification): string {
  const { agent, kind, status, attempt, change, logTail } = notification
  const title = agent ? `${OPERATOR_TITLES[kind]}: ${toOneLine(agent.name)} (${agent.id})` : OPERATOR_TITLES[kind]
  const lines = [title, status, `Trigger: ${kind}`, `Attempt count: ${attempt}`]
  if (change) lines.push(kind === 'crash_loop' ? `Last change: ${toOneLine(change)}` : `Change: ${toOneLine(change)}`)
  if (logTail) lines.push('Last output:', logTail)
  return lines.join('\n')
}

function toWebhookBody(notification: Notification): string {
  const { id, kind, at, agent, status, attempt, exitCode, outOfMemory, rung, change, logTail } = notification
  const event: WatchdogEvent = {
    version: 1,
    type: `watchdog.${kind}`,
    timestamp: at,
    data: {
      id,
      severity: SEVERITIES[kind],
      agentId: agent?.id ?? null,
      agentName: agent?.name ?? null,
      status,
      attempt,
      exitCode,
      outOfMemory,
      rung: rung ?? null,
      change: change ?? null,
      logTail: logTail ?? null,
    },
  }
  return JSON.stringify(event)
}

const SEVERITIES: Readonly<Record<Notification['kind'], WatchdogEvent['data']['severity']>> = {
  degraded: 'warning',
  recovered: 'info',
  crash: 'error',
  crash_loop: 'critical',
  repair_started: 'warning',
  repaired: 'info',
  repair_failed: 'error',
  host_fault: 'critical',
  disk_low: 'critical',
  disk_recovered: 'info',
  test: 'info',
}
