import { randomBytes } from 'node:crypto'
import { desc, eq } from 'drizzle-orm'
import { z } from 'zod'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { Base } from '../../base.ts'
import type { ChangedWebhookChannel, WebhookChannel, WebhookChannelRequest } from './schemas.ts'
import { type WebhookChannelRow, type WebhookDeliveryRow, webhookChannels, webhookDeliveries } from './tables.ts'

const KEY_BYTES = 32
const SHOWN = 20
type By = { user: SignedInUser; address: string | null }

const Opened = z.object({ secret: z.string(), url: z.string() })
type OpenedChannel = z.infer<typeof Opened>

/** @throws AppError `not_found`. */
export function showWebhookChannel(
  deps: { db: Db; appUrl: string },
  user: SignedInUser,
  agentId: string,
): WebhookChannel {
  const { id } = getAgent(deps.db, { kind: 'user', user }, agentId)
  return toChannel(deps, id)
}

/** Opens or changes the channel. @throws AppError `not_found`. */
export async function changeWebhookChannel(
  deps: Base & { appUrl: string },
  { user, address }: By,
  agentId: string,
  { url, newSecret = false }: WebhookChannelRequest,
): Promise<ChangedWebhookChannel> {
  const made = `whsec_${randomBytes(KEY_BYTES).toString('base64')}`
  const secret = await write(deps.db, (tx) => {
    getAgent(tx, { kind: 'user', user }, agentId)
    const before = findWebhookChannel(tx, agentId)
    const kept = before && !newSecret ? openWebhookChannel(deps.sealer, before).secret : null
    const sealedChannel = deps.sealer.seal(JSON.stringify({ secret: kept ?? made, url }), `webhook_channels:${agentId}`)
    const row = { sealedChannel, destination: new URL(url).origin }
    const now = deps.clock.now()
    tx.insert(webhookChannels)
      .values({ agentId, ...row, since: now })
      .onConflictDoUpdate({ target: webhookChannels.agentId, set: row })
      .run()
    const detail = { channel: 'webhook', destination: row.destination, hasNewSecret: kept === null }
    recordAudit(tx, { actor: user.id, address, action: 'agent.channel-on', target: agentId, detail }, now)
    return kept === null ? made : null
  })
  return { channel: toChannel(deps, agentId), secret }
}

/** Closes the channel, which invalidates its secret. @throws AppError `not_found`. */
export async function closeWebhookChannel({ db, clock }: Base, { user, address }: By, agentId: string): Promise<void> {
  await write(db, (tx) => {
    getAgent(tx, { kind: 'user', user }, agentId)
    if (tx.delete(webhookChannels).where(eq(webhookChannels.agentId, agentId)).run().changes === 0) return
    const detail = { channel: 'webhook' }
    recordAudit(tx, { actor: user.id, address, action: 'agent.channel-off', target: agentId, detail }, clock.now())
  })
}

/** Deletes the secret and address of an agent's channel, in the caller's transaction. */
export function forgetWebhookChannel(tx: Tx, agentId: string): void {
  tx.delete(webhookChannels).where(eq(webhookChannels.agentId, agentId)).run()
}

export function findWebhookChannel(db: Db | Tx, agentId: string): WebhookChannelRow | null {
  return db.select().from(webhookChannels).where(eq(webhookChannels.agentId, agentId)).get() ?? null
}

export function openWebhookChannel(sealer: Sealer, { agentId, sealedChannel }: WebhookChannelRow): OpenedChannel {
  return Opened.parse(JSON.parse(sealer.unseal(sealedChannel, `webhook_channels:${agentId}`)))
}

function toChannel({ db, appUrl }: { db: Db; appUrl: string }, agentId: string): WebhookChannel {
  const row = findWebhookChannel(db, agentId)
  const { lastError, lastErrorAt } = row ?? {}
  return {
    isOn: row !== null,
    inbound: `${appUrl}/api/webhooks/agents/${encodeURIComponent(agentId)}`,
    sendsTo: row?.destination ?? null,
    since: row?.since.toISOString() ?? null,
    lastReceivedAt: row?.lastReceivedAt?.toISOString() ?? null,
    lastSentAt: row?.lastSentAt?.toISOString() ?? null,
    lastError: lastError && lastErrorAt ? { message: lastError, at: lastErrorAt.toISOString() } : null,
    deliveries: listLatest(db, agentId).map(toDelivery),
  }
}

function listLatest(db: Db, agentId: string): WebhookDeliveryRow[] {
  return db
    .select()
    .from(webhookDeliveries)
    .where(eq(webhookDeliveries.agentId, agentId))
    .orderBy(desc(webhookDeliveries.receivedAt))
    .limit(SHOWN)
    .all()
}

function toDelivery({
  answerStatus,
  answerError,
  receivedAt,
  ...row
}: WebhookDeliveryRow): WebhookChannel['deliveries'][number] {
  const { id, deliveryId, conversation, status, error } = row
  const answer = answerStatus && { status: answerStatus, error: answerError }
  return { id, deliveryId, conversation, status, error, answer, receivedAt: receivedAt.toISOString() }
}
