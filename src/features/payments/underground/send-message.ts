import { and, eq, gte } from 'drizzle-orm'
import type { Chain } from '../../../adapters/chain/chain.ts'
import type { Egress } from '../../../adapters/egress/egress.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { sha256 } from '../../../core/secrets.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { PLANS, planInForce, planRequired } from '../../accounts/plans/plans.ts'
import { findAgentRow } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { findWallet, openSigningAccount } from '../wallets/create.ts'
import { applyAmplification, applyBooking, type Exchange } from './actions.ts'
import { BUS_DELIVERY_JOB, deliverMessage, undelivered } from './delivery.ts'
import { type BusMessage, BusRecipient, type OwnMessage } from './schemas.ts'
import { type BusMessageRow, busMessages } from './tables.ts'
import { toSignedText, verifyMessage } from './verify-message.ts'

export type BusSendDeps = Base & {
  chain: Pick<Chain, 'verifySignature'>
  egress: Egress
  findUser: (id: string) => SignedInUser | null
  agentsDomain: string
}

/** The request makes the first attempt; the queue makes the next ones, also after a crash. */
const SECOND_ATTEMPT_MS = 20_000

/** Accepts a signed message; resolves when it was delivered. */
type SendMessage = (message: BusMessage) => Promise<void>

/** An accepted message; `isNew` unless it was a repeat. */
type Taken = { row: BusMessageRow; isNew: boolean }

/**
 * Creates the function that verifies a message, applies its action and delivers it. A repeated message is not accepted
 * again; its response is the outcome of the first.
 * @throws AppError `unauthenticated` for an invalid signature; `limited` {current, limit} at the plan's daily messages,
 * `payment_required` without a plan; `conflict` for another message with the same id; errors of the action;
 * `undelivered` when the first attempt fails and the queue retries.
 */
export function createMessageSender(deps: BusSendDeps): SendMessage {
  const firstAttempts = new Map<number, Promise<void>>()
  return async (message) => {
    const { row, isNew } = await takeMessage(deps, message)
    if (isNew) {
      const attempt = deliverMessage(deps, row.id).finally(() => firstAttempts.delete(row.id))
      firstAttempts.set(row.id, attempt)
    }
    const attempt = firstAttempts.get(row.id)
    if (attempt) return attempt
    if (!isDelivered(deps, row.id)) throw undelivered(row.lastError ?? 'it is under way')
  }
}

async function takeMessage(deps: BusSendDeps, message: BusMessage): Promise<Taken> {
  const { agent: sender, version } = await verifyMessage(deps, message)
  const recipient = findRecipient(deps, message)
  return write(deps.db, (tx) => {
    const earlier = findEarlier(tx, sender, message)
    if (earlier) return { row: earlier, isNew: false }
    const now = deps.clock.now()
    requireMessageQuota(deps, tx, sender, now)
    applyBooking(tx, { message, sender, recipient, now })
    applyAmplification(tx, { message, sender, recipient, now })
    const row = insertMessage(tx, { message, sender, recipient, now }, version)
    deps.enqueue(tx, BUS_DELIVERY_JOB, { id: row.id }, { delayMs: SECOND_ATTEMPT_MS, share: row.ownerId })
    return { row, isNew: true }
  })
}

function isDelivered({ db }: BusSendDeps, id: number): boolean {
  const row = db.select({ status: busMessages.status }).from(busMessages).where(eq(busMessages.id, id)).get()
  return row?.status === 'delivered'
}

/** Finds an agent by id or host name. @throws AppError `undelivered`. */
function findRecipient({ db, agentsDomain }: BusSendDeps, message: BusMessage): AgentRow {
  const parsed = BusRecipient.safeParse(message.to)
  const name = parsed.data?.agentId.toLowerCase() ?? ''
  const suffix = `.${agentsDomain}`
  const id = name.endsWith(suffix) ? name.slice(0, -suffix.length) : (parsed.data?.agentId ?? '')
  const agent = findAgentRow(db, id)
  if (!agent) throw undelivered('there is no such agent')
  return agent
}

function findEarlier(tx: Tx, sender: AgentRow, message: BusMessage): BusMessageRow | undefined {
  const isThis = and(eq(busMessages.fromAgentId, sender.id), eq(busMessages.messageId, message.messageId))
  const earlier = tx.select().from(busMessages).where(isThis).get()
  if (earlier && earlier.contentHash !== hashOf(message)) {
    throw new AppError('conflict', 'This messageId was used for another message')
  }
  return earlier
}

/** Days are UTC. Agents of the operator have the largest plan. */
function requireMessageQuota(deps: BusSendDeps, tx: Tx, sender: AgentRow, now: Date): void {
  const owner = sender.ownerId === null ? null : deps.findUser(sender.ownerId)
  if (sender.ownerId !== null && !owner) throw new AppError('unauthenticated', 'Invalid message signature')
  const limit = (owner ? planInForce(tx, owner) : PLANS.network).messagesPerDay
  if (limit === null) return
  if (limit === 0) throw planRequired()
  const today = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()))
  const whose = owner ? eq(busMessages.ownerId, owner.id) : eq(busMessages.fromAgentId, sender.id)
  const current = countRows(tx, busMessages, and(whose, gte(busMessages.createdAt, today)))
  requireQuota({ current, limit, message: 'Limit of agent messages a day reached' })
}

function insertMessage(tx: Tx, { message, sender, recipient, now }: Exchange, version: string): BusMessageRow {
  const { messageId, action } = message
  return tx
    .insert(busMessages)
    .values({
      ownerId: sender.ownerId,
      fromAgentId: sender.id,
      toAgentId: recipient.id,
      messageId,
      action,
      version,
      body: JSON.stringify(message),
      contentHash: hashOf(message),
      status: 'pending',
      createdAt: now,
    })
    .returning()
    .get()
}

/** Hashes the signed fields in a fixed order. */
function hashOf({ version, timestamp, to, action, payload }: BusMessage): string {
  return sha256(JSON.stringify([version, timestamp, to, action, payload]))
}

/** Version of the messages that this platform composes. */
const VERSION = '1.0'

/**
 * Signs a message with the agent's managed wallet and sends it. @throws AppError `not_found` for an agent without a
 * wallet, and as `SendMessage`.
 */
export async function sendOwnMessage(
  deps: BusSendDeps,
  send: SendMessage,
  agentId: string,
  { messageId = newId('msg'), to, action, payload }: OwnMessage,
): Promise<{ messageId: string }> {
  const agent = findAgentRow(deps.db, agentId)
  const wallet = agent?.ownerId ? findWallet(deps.db, { userId: agent.ownerId, agentId }) : null
  if (!agent || !wallet) throw new AppError('not_found', 'This agent has no wallet to sign with')
  const from = { agentId, agentType: agent.specialization ?? 'general', walletAddress: wallet.address }
  const message: BusMessage = {
    version: VERSION,
    messageId,
    timestamp: deps.clock.now().toISOString(),
    from,
    to,
    action,
    payload,
  }
  const account = await openSigningAccount(deps, wallet)
  const signature = await account.signMessage({ message: await toSignedText(message, from) })
  await send({ ...message, from: { ...from, signature } })
  return { messageId }
}
