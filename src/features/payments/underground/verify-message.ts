import { and, eq } from 'drizzle-orm'
import type { Chain } from '../../../adapters/chain/chain.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { wallets } from '../../accounts/sign-in/tables.ts'
import { findAgentRow } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { managedWallets } from '../wallets/tables.ts'
import { type BusMessage, SignedPart } from './schemas.ts'

const WINDOW_MS = 5 * 60_000
/** Contract wallets have longer signatures than the 65 bytes of an account. */
const SIGNATURE = /^0x(?:[0-9a-fA-F]{2}){65,10000}$/

/** The verified sender of a message. */
type Sender = { agent: AgentRow; version: string }

/**
 * Returns the agent that signed a message: the signature is valid, at most five minutes old, and of a wallet of the
 * agent.
 * @throws AppError `unauthenticated` with the reason; `unavailable` when a contract wallet cannot be queried.
 */
export async function verifyMessage(
  deps: Base & { chain: Pick<Chain, 'verifySignature'> },
  message: BusMessage,
): Promise<Sender> {
  const parsed = SignedPart.safeParse(message)
  if (!parsed.success) throw badSignature(`${parsed.error.issues[0]?.path.join('.')} is missing or not valid`)
  const { version, timestamp, from } = parsed.data
  const signature = from.signature ?? parsed.data.signature
  if (!isSignature(signature)) throw badSignature('there is no signature')
  const address = from.walletAddress
  if (!isAddress(address)) throw badSignature('from.walletAddress is not valid')
  if (Math.abs(deps.clock.now().getTime() - Date.parse(timestamp)) > WINDOW_MS) {
    throw badSignature('the timestamp is more than five minutes away')
  }
  const agent = findAgentRow(deps.db, from.agentId)
  if (!agent || !isWalletOf(deps.db, agent, address)) throw badSignature('the wallet does not belong to this agent')
  // Last, because it may query the chain, which other callers must not cause.
  const signed = await toSignedText(message, from)
  if (!(await deps.chain.verifySignature({ address, message: signed, signature }))) {
    throw badSignature('it was not signed by this wallet')
  }
  return { agent, version }
}

type From = { agentId: string; agentType?: string | undefined; walletAddress: string }

/** Returns the signed text: the hash of the message with its keys in this order, without `metadata`. */
export async function toSignedText(message: BusMessage, { agentId, agentType, walletAddress }: From): Promise<string> {
  const { keccak256, toBytes } = await import('viem')
  const { version, messageId, timestamp, to, action, payload } = message
  const from = { agentId, agentType, walletAddress }
  return keccak256(toBytes(JSON.stringify({ version, messageId, timestamp, from, to, action, payload })))
}

/** The agent's wallet, or a sign-in wallet of its owner. */
function isWalletOf(db: Db, agent: AgentRow, address: string): boolean {
  const isOwn = and(eq(managedWallets.address, address.toLowerCase()), eq(managedWallets.agentId, agent.id))
  if (db.select({ id: managedWallets.id }).from(managedWallets).where(isOwn).get()) return true
  if (agent.ownerId === null) return false
  const isOwners = and(eq(wallets.address, address.toLowerCase()), eq(wallets.userId, agent.ownerId))
  return db.select({ address: wallets.address }).from(wallets).where(isOwners).limit(1).get() !== undefined
}

function isSignature(text: string | undefined): text is `0x${string}` {
  return text !== undefined && SIGNATURE.test(text)
}

function isAddress(text: string): text is `0x${string}` {
  return text.startsWith('0x')
}

function badSignature(reason: string): AppError {
  return new AppError('unauthenticated', 'Invalid message signature', { reason })
}
