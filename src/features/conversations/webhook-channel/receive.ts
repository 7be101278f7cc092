import { and, eq } from 'drizzle-orm'
import { Webhook } from 'standardwebhooks'
import type { ZodType } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { StorageQuota } from '../../agents/storage/quota.ts'
import type { Base } from '../../base.ts'
import { recordChannelLine } from '../chat/channels/record.ts'
import { type WebhookAccepted, WebhookMessage } from './schemas.ts'
import { findWebhookChannel, openWebhookChannel } from './settings.ts'
import { webhookChannels, webhookDeliveries } from './tables.ts'

/** Asks the agent; `ANSWER_JOB` posts its answer. The jobs are in `jobs.ts`. */
export const ASK_BY_WEBHOOK_JOB = 'webhook-channel.ask'
export const ANSWER_WEBHOOK_JOB = 'webhook-channel.answer'

const MAX_BODY_BYTES = 64 * 1024
const MAX_WAITING = 100
const AGENT_ID = /^[a-z0-9][a-z0-9-]{0,40}$/
const DELIVERY_ID = /^[\x21-\x7e]{1,200}$/
type Signed = { header: (name: string) => string | undefined; body: Uint8Array }

/** A message with a valid signature. `deliveryId` is the sender's id. */
export type Delivery = { agentId: string; deliveryId: string; message: WebhookMessage }

/** @throws AppError `unauthenticated` for a malformed agent id, as for an agent without this channel. */
export function requireAgentForm(id: string): void {
  if (!AGENT_ID.test(id)) throw new AppError('unauthenticated', 'Invalid signature')
}

/**
 * Verifies a message for an agent by Standard Webhooks: HMAC-SHA256 over id, time and body, at most five minutes old.
 * @throws AppError `unauthenticated` for a wrong signature, and for an agent without this channel, so that no one can
 * probe agent ids; `invalid`, `too_large`.
 */
export function verifyDelivery(deps: Base, agentId: string, signed: Signed): Delivery {
  if (signed.body.length > MAX_BODY_BYTES) throw new AppError('too_large', 'A message has at most 64 KB')
  const channel = findWebhookChannel(deps.db, agentId)
  const deliveryId = verify(channel ? openWebhookChannel(deps.sealer, channel).secret : null, signed)
  return { agentId, deliveryId, message: parse(WebhookMessage, signed.body) }
}

/**
 * Accepts a message once per id: a repetition returns the status of the first.
 * @throws AppError `storage_full`, `limited` while a hundred messages wait for the agent.
 */
export function takeDelivery(
  deps: Base & { storage: Pick<StorageQuota, 'within'> },
  { agentId, deliveryId, message }: Delivery,
): Promise<{ accepted: WebhookAccepted; isNew: boolean }> {
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const isThis = and(eq(webhookDeliveries.agentId, agentId), eq(webhookDeliveries.deliveryId, deliveryId))
    const earlier = tx.select().from(webhookDeliveries).where(isThis).get()
    if (earlier) return { accepted: { id: earlier.id, status: earlier.status }, isNew: false }
    const id = newId('whd')
    keep(deps, tx, { agentId, deliveryId, id, ...message, status: 'queued', receivedAt: now })
    tx.update(webhookChannels).set({ lastReceivedAt: now }).where(eq(webhookChannels.agentId, agentId)).run()
    return { accepted: { id, status: 'queued' as const }, isNew: true }
  })
}

function keep(
  { storage, enqueue, clock }: Base & { storage: Pick<StorageQuota, 'within'> },
  tx: Tx,
  row: typeof webhookDeliveries.$inferInsert & { id: string },
): void {
  const agent = getAgent(tx, { kind: 'operator' }, row.agentId)
  const { ownerId } = agent
  const isWaiting = and(eq(webhookDeliveries.agentId, row.agentId), eq(webhookDeliveries.status, 'queued'))
  const current = countRows(tx, webhookDeliveries, isWaiting)
  requireQuota({ current, limit: MAX_WAITING, message: 'The agent has not answered what was sent before' })
  storage.within(tx, ownerId, () => {
    tx.insert(webhookDeliveries).values(row).run()
    recordChannelLine({ clock }, tx, agent, {
      platform: 'webhook',
      channelKey: toWebhookSession(row.conversation),
      externalId: row.id,
      title: row.conversation,
      sender: 'user',
      author: row.conversation,
      content: row.text,
      status: 'sent',
      at: clock.now(),
    })
  })
  enqueue(tx, ASK_BY_WEBHOOK_JOB, { id: row.id }, { key: `${ASK_BY_WEBHOOK_JOB}:${row.id}`, share: ownerId })
}

/** Returns the agent's session key of a webhook conversation. */
export function toWebhookSession(conversation: string): string {
  return `webhook:${conversation}`
}

/**
 * Checks the headers before the body is read.
 * @throws AppError `unauthenticated` without all three headers of Standard Webhooks.
 */
export function requireSignature(header: Signed['header']) {
  const [id, timestamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(header)
  if (!id || !timestamp || !signature) throw new AppError('unauthenticated', 'Missing signature headers')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature }
}

/** @returns the sender's id of the message. */
function verify(secret: string | null, { header, body }: Signed): string {
  const headers = requireSignature(header)
  const id = headers['webhook-id']
  try {
    if (secret === null) throw new Error('There is no such channel')
    new Webhook(secret).verify(Buffer.from(body), headers, { jsonParse: false })
  } catch (error) {
    throw new AppError('unauthenticated', 'Invalid signature', {}, { cause: error })
  }
  if (!DELIVERY_ID.test(id)) throw new AppError('invalid', 'webhook-id must be 1 to 200 visible ASCII characters')
  return id
}

function parse<T>(schema: ZodType<T>, body: Uint8Array): T {
  const parsed = schema.safeParse(parseJson(body))
  if (!parsed.success) throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'Invalid payload')
  return parsed.data
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) throw new AppError('invalid', 'The body must be JSON', {}, { cause: error })
    throw error
  }
}
