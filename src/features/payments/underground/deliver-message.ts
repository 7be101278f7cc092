import { and, eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Egress } from '../../../adapters/egress/egress.ts'
import { EgressError } from '../../../adapters/egress/error.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import { findWebhookUrl } from '../../agents/registry/config.ts'
import { agents } from '../../agents/registry/tables.ts'
import { type BusMessageRow, busMessages } from './tables.ts'

export type DeliverDeps = { db: Db; clock: Clock; sealer: Sealer; egress: Egress }

export const DELIVER_JOB = 'bus.deliver'
const Delivery = z.object({ id: z.number() })
/** More than an hour: a recipient who is down that long still gets what was sent meanwhile. */
const MAX_ATTEMPTS = 24
const TIMEOUT_MS = 10_000
const MAX_ERROR_CHARACTERS = 300

/** Delivers messages whose first attempt failed or was cut short; what cannot be delivered at all is a dead letter. */
export function deliverMessageJob(deps: DeliverDeps): JobKind {
  return defineJob({
    kind: DELIVER_JOB,
    payload: Delivery,
    maxAttempts: MAX_ATTEMPTS,
    isSlow: true,
    run: ({ id }, signal) => deliverMessage(deps, id, signal),
    onDead: ({ id }) => markDead(deps.db, id),
  })
}

/**
 * Posts a pending message to the webhook of its recipient, which tells a repeated one by `X-Stead-Message` (at least once).
 * @throws AppError `undelivered` when it was not taken; the reason is kept, the address is told to nobody.
 */
export async function deliverMessage(deps: DeliverDeps, id: number, signal?: AbortSignal): Promise<void> {
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

/** The sender is told why, never where. */
export function undelivered(reason: string): AppError {
  return new AppError('undelivered', 'Failed to send message', { reason })
}

/** @returns null when the recipient took it, else why not. */
async function post(deps: DeliverDeps, url: string, message: BusMessageRow, signal?: AbortSignal) {
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

async function noteAttempt({ db, clock }: DeliverDeps, id: number, failure: string | null): Promise<void> {
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
