import { and, asc, desc, eq } from 'drizzle-orm'
import type { Hex } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { managedWallets, type WalletRow } from './tables.ts'

/** Owner of a wallet: the user without `agentId`, else the agent. */
export type WalletOwner = { userId: string; agentId: string | null }

/**
 * Creates the wallet of a user or agent, or returns the existing one. The key is generated here, sealed, and never
 * shown.
 * @throws AppError `not_found` for a missing agent or another user's.
 */
export async function createWallet(deps: Base, owner: WalletOwner): Promise<{ wallet: WalletRow; isNew: boolean }> {
  const { key, address } = await drawKey()
  return write(deps.db, (tx) => {
    requireOwnAgent(tx, owner)
    const existing = findWallet(tx, owner)
    if (existing) return { wallet: existing, isNew: false }
    return { wallet: insertWallet(tx, deps, owner, { key, address }), isNew: true }
  })
}

async function drawKey(): Promise<{ key: Hex; address: string }> {
  const { generatePrivateKey, privateKeyToAccount } = await import('viem/accounts')
  const key = generatePrivateKey()
  return { key, address: privateKeyToAccount(key).address.toLowerCase() }
}

function insertWallet(
  tx: Tx,
  { clock, sealer }: Base,
  { userId, agentId }: WalletOwner,
  { key, address }: { key: Hex; address: string },
): WalletRow {
  const id = newId('wal')
  const createdAt = clock.now()
  recordAudit(tx, { actor: userId, action: 'wallet.created', target: id, detail: { address, agentId } }, createdAt)
  const sealedKey = sealer.seal(key, `managed_wallets:${id}`)
  const kind = agentId === null ? 'user' : 'agent'
  return tx
    .insert(managedWallets)
    .values({ id, kind, userId, agentId, address, sealedKey, createdAt })
    .returning()
    .get()
}

function requireOwnAgent(db: Db, { userId, agentId }: WalletOwner): void {
  if (agentId === null) return
  const isOwn = and(eq(agents.id, agentId), eq(agents.ownerId, userId))
  const agent = db.select({ id: agents.id }).from(agents).where(isOwn).get()
  if (!agent) throw new AppError('not_found', 'Agent not found')
}

/** Returns null without a wallet. */
export function findWallet(db: Db, { userId, agentId }: WalletOwner): WalletRow | null {
  const isThis =
    agentId === null
      ? and(eq(managedWallets.userId, userId), eq(managedWallets.kind, 'user'))
      : and(eq(managedWallets.userId, userId), eq(managedWallets.agentId, agentId))
  return db.select().from(managedWallets).where(isThis).get() ?? null
}

/** @throws AppError `not_found` without a wallet, and for another user's agent. */
export function getWallet(db: Db, owner: WalletOwner): WalletRow {
  const wallet = findWallet(db, owner)
  if (!wallet) throw new AppError('not_found', 'Wallet not found')
  return wallet
}

/** Returns the account that signs for a wallet. It never leaves the process. */
export async function openSigningAccount(
  { sealer }: { sealer: Sealer },
  wallet: WalletRow,
): Promise<PrivateKeyAccount> {
  const { privateKeyToAccount } = await import('viem/accounts')
  return privateKeyToAccount(unsealWalletKey(sealer, wallet))
}

/** Returns the private key, for the command-line export only. */
export function unsealWalletKey(sealer: Sealer, wallet: WalletRow): Hex {
  return `0x${sealer.unseal(wallet.sealedKey, `managed_wallets:${wallet.id}`).slice(2)}`
}

/** Lists the user's own wallet, then those of their agents, including deleted ones. */
export function listWallets(db: Db, userId: string): WalletRow[] {
  const isTheirs = eq(managedWallets.userId, userId)
  const order = [desc(managedWallets.kind), asc(managedWallets.createdAt)]
  return db
    .select()
    .from(managedWallets)
    .where(isTheirs)
    .orderBy(...order)
    .all()
}

/** Exports any wallet's key on the command line; the audit entry is written first. @throws AppError `not_found`. */
export function exportKey(deps: { db: Db; clock: Clock; sealer: Sealer }, address: string): Promise<Hex> {
  return write(deps.db, (tx) => {
    const isThis = eq(managedWallets.address, address.toLowerCase())
    const wallet = tx.select().from(managedWallets).where(isThis).get()
    if (!wallet) throw new AppError('not_found', `No wallet has the address ${address}`)
    const detail = { address: wallet.address }
    recordAudit(tx, { actor: 'cli', action: 'wallet.exported', target: wallet.id, detail }, deps.clock.now())
    return unsealWalletKey(deps.sealer, wallet)
  })
}
