import { and, eq, lt } from 'drizzle-orm'
import { z } from 'zod'
import type { Message, Recipient } from '../../../adapters/channels/messenger.ts'
import type { Sent } from '../../../adapters/egress/outbound.ts'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import { KeptFailure } from '../../../adapters/gateways/http.ts'
import { collectTurn, type TurnFigures } from '../../../core/agents/collect-turn.ts'
import { addDays } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { ReachDeps } from '../../ai/breakers/reach-limit.ts'
import { takeLimitsIn } from '../../ai/breakers/take-limits.ts'
import type { Base } from '../../base.ts'
import { recordChannelAnswer } from '../chat/channels/record.ts'
import { requireEndpoint } from '../chat/turns/ask.ts'
import { ANSWER_WEBHOOK_JOB, ASK_BY_WEBHOOK_JOB, toWebhookSession } from './receive.ts'
import { findWebhookChannel, openWebhookChannel } from './settings.ts'
import { type WebhookDeliveryRow, webhookChannels, webhookDeliveries } from './tables.ts'

/** About three hours for a stopped agent, and 90 minutes for an unreachable receiver. */
const ASK_ATTEMPTS = 40
const ANSWER_ATTEMPTS = 24
const MAX_REPLY_CHARACTERS = 20_000
const DAYS_KEPT = 7
const HOUR_MS = 3_600_000

const Payload = z.object({ id: z.string() })

/** Asks the agent. A built-in agent answers each message once, even if it is delivered again. */
export function askByWebhookJob(deps: Base & ReachDeps & { gateway: Pick<AgentGateway, 'streamTurn'> }): JobKind {
  return defineJob({
    kind: ASK_BY_WEBHOOK_JOB,
    payload: Payload,
    maxAttempts: ASK_ATTEMPTS,
    isSlow: true,
    run: ({ id }, signal) => ask(deps, id, signal),
    onDead: ({ id }, error) =>
      finish(deps, id, {
        status: 'failed',
        reply: null,
        error: error instanceof AppError ? error.message : 'The agent could not be reached',
      }),
  })
}

async function ask(
  deps: Base & ReachDeps & { gateway: Pick<AgentGateway, 'streamTurn'> },
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const found = deps.db
    .select({ delivery: webhookDeliveries, agent: agents })
    .from(webhookDeliveries)
    .innerJoin(agents, eq(agents.id, webhookDeliveries.agentId))
    .where(and(eq(webhookDeliveries.id, id), eq(webhookDeliveries.status, 'queued')))
    .get()
  if (!found) return
  const { conversation, text } = found.delivery
  const endpoint = requireEndpoint(deps.sealer, found.agent)
  const request = { sessionKey: toWebhookSession(conversation), message: text, turnId: id }
  const collected = collectTurn()
  try {
    for await (const event of deps.gateway.streamTurn(endpoint, request, signal)) collected.add(event)
  } catch (error) {
    if (error instanceof KeptFailure) return finish(deps, id, { status: 'failed', reply: null, error: error.message })
    if (!(error instanceof AppError) || error.extra.code !== 'TURN_INTERRUPTED') throw error
    const interrupted = 'The agent ended in the middle of its answer: send the message again'
    return finish(deps, id, { status: 'failed', reply: null, error: interrupted })
  }
  const reply = collected.text().slice(0, MAX_REPLY_CHARACTERS)
  await finish(deps, id, { status: 'answered', reply, error: null }, collected.figures())
}

type Outcome = Pick<WebhookDeliveryRow, 'status' | 'reply' | 'error'>

/** Stores the outcome and enqueues its delivery; failures are delivered too. */
async function finish(
  deps: Base & ReachDeps,
  id: string,
  wanted: Outcome,
  figures: TurnFigures = collectTurn().figures(),
): Promise<void> {
  const { db, clock, enqueue } = deps
  await write(db, (tx) => {
    const outcome = withinLimit(deps, tx, id, wanted)
    const change = { ...outcome, answerStatus: 'queued', answeredAt: clock.now() } as const
    const [delivery] = tx.update(webhookDeliveries).set(change).where(eq(webhookDeliveries.id, id)).returning().all()
    if (!delivery) return
    const { status, reply, error } = outcome
    recordChannelAnswer({ clock }, tx, getAgent(tx, { kind: 'operator' }, delivery.agentId), {
      ...figures,
      questionId: id,
      content: reply ?? '',
      status: status === 'failed' ? 'failed' : 'sent',
      error: error === null ? null : { kind: 'upstream_failed', message: error },
      at: clock.now(),
    })
    enqueue(tx, ANSWER_WEBHOOK_JOB, { id }, { key: `${ANSWER_WEBHOOK_JOB}:${id}` })
  })
}

/** Withholds an answer beyond the daily limit of messages; the receiver gets the reason. */
function withinLimit(deps: ReachDeps, tx: Tx, id: string, outcome: Outcome): Outcome {
  if (outcome.status !== 'answered') return outcome
  const row = tx.select({ agentId: webhookDeliveries.agentId }).from(webhookDeliveries)
  const delivery = row.where(eq(webhookDeliveries.id, id)).get()
  const reached = delivery && takeLimitsIn(deps, tx, delivery.agentId, ['messages'])
  return reached ? { status: 'failed', reply: null, error: reached.message } : outcome
}

/** Posts the answer, signed with the channel's secret; receivers recognize repetitions by `webhook-id`. */
export function answerByWebhookJob(
  deps: Base & { openMessenger: (recipient: Recipient) => (message: Message, signal: AbortSignal) => Promise<Sent> },
): JobKind {
  return defineJob({
    kind: ANSWER_WEBHOOK_JOB,
    payload: Payload,
    maxAttempts: ANSWER_ATTEMPTS,
    run: ({ id }, signal) => answer(deps, id, signal),
    onDead: ({ id }) => noteAnswer(deps, id, 'failed', null),
  })
}

/** @throws AppError `undelivered` when the receiver did not accept it. */
async function answer(
  deps: Base & { openMessenger: (recipient: Recipient) => (message: Message, signal: AbortSignal) => Promise<Sent> },
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const isWaiting = and(eq(webhookDeliveries.id, id), eq(webhookDeliveries.answerStatus, 'queued'))
  const delivery = deps.db.select().from(webhookDeliveries).where(isWaiting).get()
  const channel = delivery && findWebhookChannel(deps.db, delivery.agentId)
  if (!delivery) return
  if (!channel) return noteAnswer(deps, id, 'failed', 'The channel was switched off')
  const send = deps.openMessenger({ kind: 'webhook', ...openWebhookChannel(deps.sealer, channel) })
  const { error } = await send(toMessage(delivery, deps.clock.now()), signal)
  await noteAnswer(deps, id, error === null ? 'sent' : 'queued', error && `The address ${error}`)
  if (error !== null) throw new AppError('undelivered', `The address ${error}`)
}

function toMessage(
  { id, agentId, deliveryId, conversation, status, reply, error, answeredAt }: WebhookDeliveryRow,
  at: Date,
): Message {
  const data = { id, agentId, deliveryId, conversation, status, text: reply, error }
  const timestamp = (answeredAt ?? at).toISOString()
  const body = JSON.stringify({ version: 1, type: 'agent.answer', timestamp, data })
  return { id, title: 'An answer', text: reply ?? error ?? '', isUrgent: false, body, at }
}

type AnswerStatus = NonNullable<WebhookDeliveryRow['answerStatus']>

async function noteAnswer(
  { db, clock }: Base,
  id: string,
  answerStatus: AnswerStatus,
  error: string | null,
): Promise<void> {
  await write(db, (tx) => {
    const now = clock.now()
    const kept = error === null && answerStatus === 'failed' ? {} : { answerError: error }
    const [row] = tx
      .update(webhookDeliveries)
      .set({ answerStatus, ...kept })
      .where(eq(webhookDeliveries.id, id))
      .returning({ agentId: webhookDeliveries.agentId })
      .all()
    if (!row) return
    const isOfAgent = eq(webhookChannels.agentId, row.agentId)
    const change = error === null ? { lastSentAt: now } : { lastError: error, lastErrorAt: now }
    if (answerStatus !== 'failed' || error !== null) tx.update(webhookChannels).set(change).where(isOfAgent).run()
  })
}

/** Deletes messages after a week. */
export function webhookDeliveriesJob(deps: Base): RepeatingJob {
  return {
    name: 'webhook-channel.forget',
    everyMs: HOUR_MS,
    async run(signal) {
      await deleteInBatches(
        deps.db,
        webhookDeliveries,
        lt(webhookDeliveries.receivedAt, addDays(deps.clock.now(), -DAYS_KEPT)),
        signal,
      )
    },
  }
}
