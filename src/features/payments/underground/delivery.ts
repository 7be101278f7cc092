import { and, desc, eq, lt, ne, type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Egress } from '../../../adapters/egress/egress.ts'
import { EgressError } from '../../../adapters/egress/error.ts'
import { addDays } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { findWebhookUrl } from '../../agents/registry/config.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import type { BusMessageQuery, MessagePage, ShownMessage } from './schemas.ts'
import { type BusMessageRow, busMessages } from './tables.ts'

export const BUS_DELIVERY_JOB = 'bus.deliver'
const Delivery = z.object({ id: z.number() })
/** More than an hour, so a recipient that is down for that long still gets its messages. */
const MAX_ATTEMPTS = 24
const TIMEOUT_MS = 10_000
const MAX_ERROR_CHARACTERS = 300

/** Retries deliveries that failed or were interrupted; messages that cannot be delivered become dead letters. */
export function deliverMessageJob(deps: Base & { egress: Egress }): JobKind {
  return defineJob({
    kind: BUS_DELIVERY_JOB,
    payload: Delivery,
    maxAttempts: MAX_ATTEMPTS,
    isSlow: true,
    run: ({ id }, signal) => deliverMessage(deps, id, signal),
    onDead: ({ id }) => markDead(deps.db, id),
  })
}

/**
 * Posts a pending message to its recipient's webhook, at least once; the recipient detects repeats by
 * `X-Stead-Message`.
 * @throws AppError `undelivered` when it was not accepted. The reason is stored, the address is not disclosed.
 */
export async function deliverMessage(deps: Base & { egress: Egress }, id: number, signal?: AbortSignal): Promise<void> {
  const found = deps.db
    .select({ message: busMessages, recipient: agents })
    .from(busMessages)
    .innerJoin(agents, eq(agents.id, busMessages.toAgentId))
    .where(and(eq(busMessages.id, id), eq(busMessages.status, 'pending')))
    .get()
  if (!found) return
  const url = findWebhookUrl(deps.sealer, found.recipient)
  const failure = url === null ? 'the recipient has no webhook' : await post(deps, url, found.message, signal)
  await noteAttempt(deps, id, failure)
  if (failure !== null) throw undelivered(failure)
}

/** The sender learns the reason, not the address. */
export function undelivered(reason: string): AppError {
  return new AppError('undelivered', 'Failed to send message', { reason })
}

/** @returns null when the recipient accepted it, else the reason. */
async function post(deps: { egress: Egress }, url: string, message: BusMessageRow, signal?: AbortSignal) {
  try {
    const response = await deps.egress.request(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-agent-protocol-version': message.version,
        'x-stead-message': String(message.id),
      },
      body: message.body,
      timeoutMs: TIMEOUT_MS,
      maxRedirects: 0,
      ...(signal && { signal }),
    })
    response.cancel()
    return response.status >= 200 && response.status < 300 ? null : `the recipient answered ${response.status}`
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof EgressError) return 'the recipient could not be reached'
    return errorMessage(error).slice(0, MAX_ERROR_CHARACTERS)
  }
}

async function noteAttempt({ db, clock }: Base, id: number, failure: string | null): Promise<void> {
  const outcome =
    failure === null
      ? { status: 'delivered' as const, deliveredAt: clock.now(), lastError: null }
      : { lastError: failure }
  const attempts = sql`${busMessages.attempts} + 1`
  await write(db, (tx) =>
    tx
      .update(busMessages)
      .set({ ...outcome, attempts })
      .where(eq(busMessages.id, id))
      .run(),
  )
}

async function markDead(db: Db, id: number): Promise<void> {
  const isPending = and(eq(busMessages.id, id), eq(busMessages.status, 'pending'))
  await write(db, (tx) => tx.update(busMessages).set({ status: 'dead' }).where(isPending).run())
}

const PAGE = 100

/** Lists the messages of a user's agents, newest first. */
export function listSentMessages(db: Db, userId: string, query: BusMessageQuery): MessagePage {
  return listPage(db, eq(busMessages.ownerId, userId), query)
}

/** Lists undeliverable messages, newest first. */
export function listDeadLetters(db: Db, query: BusMessageQuery): MessagePage {
  return listPage(db, eq(busMessages.status, 'dead'), query)
}

/** Queues a dead letter again with fresh attempts. @throws AppError `not_found`. */
export async function replayDeadLetter(
  deps: Base,
  admin: { id: string; address: string | null },
  id: number,
): Promise<ShownMessage> {
  const row = await write(deps.db, (tx) => {
    const isDead = and(eq(busMessages.id, id), eq(busMessages.status, 'dead'))
    const changed = tx.update(busMessages).set({ status: 'pending' }).where(isDead).returning().get()
    if (!changed) throw new AppError('not_found', 'Dead letter not found')
    deps.enqueue(tx, BUS_DELIVERY_JOB, { id }, { share: changed.ownerId })
    const entry = { actor: admin.id, action: 'bus.replay', target: String(id), address: admin.address }
    recordAudit(tx, entry, deps.clock.now())
    return changed
  })
  return toShownMessage(row)
}

function listPage(db: Db, condition: SQL, { before }: BusMessageQuery): MessagePage {
  const rows = db
    .select()
    .from(busMessages)
    .where(and(condition, before === undefined ? undefined : lt(busMessages.id, before)))
    .orderBy(desc(busMessages.id))
    .limit(PAGE)
    .all()
  return { messages: rows.map(toShownMessage), next: rows.length === PAGE ? (rows.at(-1)?.id ?? null) : null }
}

function toShownMessage(row: BusMessageRow): ShownMessage {
  return {
    id: row.id,
    messageId: row.messageId,
    action: row.action,
    from: row.fromAgentId,
    to: row.toAgentId,
    status: row.status,
    attempts: row.attempts,
    lastError: row.lastError,
    createdAt: row.createdAt.toISOString(),
    deliveredAt: row.deliveredAt?.toISOString() ?? null,
  }
}

const HOUR_MS = 3_600_000
const DAYS_KEPT = 90

/** Deletes messages after 90 days; dead letters are kept for an admin. */
export function forgetMessagesJob({ db, clock }: Base): RepeatingJob {
  return {
    name: 'bus messages',
    everyMs: HOUR_MS,
    async run(signal) {
      const isOld = lt(busMessages.createdAt, addDays(clock.now(), -DAYS_KEPT))
      await deleteInBatches(db, busMessages, and(isOld, ne(busMessages.status, 'dead')), signal)
    },
  }
}
