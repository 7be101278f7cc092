import { and, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import { agents } from '../../agents/registry/tables.ts'
import { readBalance, type TokenChains } from '../wallets/balance.ts'
import { type CreateWalletDeps, createHouseWallet, createWallet } from '../wallets/create.ts'
import { managedWallets, type WalletRow } from '../wallets/tables.ts'
import type { CreateAgentWalletRequest } from './schemas.ts'
import { houseWallets } from './tables.ts'

/**
 * The wallet of an agent, made when it has none (Interface 4.8). The operator may name users and agents that are not here:
 * their wallets belong to the house.
 * @throws AppError `not_found` for a user or an agent that is not the principal's.
 */
export async function createAgentWallet(
  deps: CreateWalletDeps,
  principal: Principal,
  request: CreateAgentWalletRequest,
): Promise<WalletRow> {
  const { userId, agentId } = request
  if (principal.kind === 'user' && principal.user.id !== userId) throw new AppError('not_found', 'User not found')
  if (principal.kind === 'user' || isOwnAgent(deps.db, request)) {
    return (await createWallet(deps, { userId, agentId })).wallet
  }
  return createHouseWallet(deps, (tx, make) => {
    const isThis = and(eq(houseWallets.userId, userId), eq(houseWallets.agentId, agentId))
    const known = tx.select().from(houseWallets).where(isThis).get()
    const existing = known && tx.select().from(managedWallets).where(eq(managedWallets.id, known.walletId)).get()
    if (existing) return existing
    const wallet = make()
    tx.insert(houseWallets).values({ userId, agentId, walletId: wallet.id }).run()
    return wallet
  })
}

/** Micro-dollars in USDC on a wallet of the named user. @throws AppError `not_found`, `unavailable` without a chain. */
export async function readAgentBalance(
  deps: { db: Db; tokenChains: TokenChains },
  principal: Principal,
  { userId, address }: { userId: string; address: string },
): Promise<bigint> {
  const isTheirs = principal.kind === 'operator' || principal.user.id === userId
  const wallet = isTheirs ? findSplitWallet(deps.db, userId, address) : null
  if (!wallet) throw new AppError('not_found', 'Wallet not found')
  return readBalance(deps.tokenChains, 'USDC', wallet.address)
}

/** A wallet by its address in any case: of the user, or of the house under the user's name. */
export function findSplitWallet(db: Db, userId: string, address: string): WalletRow | null {
  const wallet = db.select().from(managedWallets).where(eq(managedWallets.address, address.toLowerCase())).get()
  if (!wallet) return null
  if (wallet.userId !== null) return wallet.userId === userId ? wallet : null
  const isNamed = and(eq(houseWallets.walletId, wallet.id), eq(houseWallets.userId, userId))
  return db.select().from(houseWallets).where(isNamed).get() ? wallet : null
}

function isOwnAgent(db: Db, { userId, agentId }: CreateAgentWalletRequest): boolean {
  const isOwn = and(eq(agents.id, agentId), eq(agents.ownerId, userId))
  return db.select({ id: agents.id }).from(agents).where(isOwn).get() !== undefined
}
