import { and, eq } from 'drizzle-orm'
import type { Chain } from '../../../adapters/chain/chain.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { wallets } from '../../accounts/sign-in/tables.ts'
import { findAgentRow } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { managedWallets } from '../wallets/tables.ts'
import { type BusMessage, SignedPart } from './schemas.ts'

export type VerifyDeps = { db: Db; clock: Clock; chain: Pick<Chain, 'verifySignature'> }

const WINDOW_MS = 5 * 60_000
/** Wallets that are contracts have longer signatures than the 65 bytes of an account; none has more than this. */
const SIGNATURE = /^0x(?:[0-9a-fA-F]{2}){65,10000}$/

/** Who sends a message that was found to be theirs. */
export type Sender = { agent: AgentRow; version: string }

/**
 * Finds the agent that a message comes from: the signature fits the message, the message is at most five minutes old, and the
 * wallet that signed it belongs to the agent (decisions, 26).
 * @throws AppError `unauthenticated` with the reason; `unavailable` when a wallet that is a contract cannot be asked.
 */
export async function verifyMessage(deps: VerifyDeps, message: BusMessage): Promise<Sender> {
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
  // Last, because it may ask the chain: strangers must not make the platform do that.
  const signed = await toSignedText(message, from)
  if (!(await deps.chain.verifySignature({ address, message: signed, signature }))) {
    throw badSignature('it was not signed by this wallet')
  }
  return { agent, version }
}

type From = { agentId: string; agentType?: string | undefined; walletAddress: string }

/** What is signed: the hash, in hex, of the message's text in this order of keys; `metadata` is not part of it. */
export async function toSignedText(message: BusMessage, { agentId, agentType, walletAddress }: From): Promise<string> {
  const { keccak256, toBytes } = await import('viem')
  const { version, messageId, timestamp, to, action, payload } = message
  const from = { agentId, agentType, walletAddress }
  return keccak256(toBytes(JSON.stringify({ version, messageId, timestamp, from, to, action, payload })))
}

/** The agent's own wallet, or one with which its owner has signed in. */
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
