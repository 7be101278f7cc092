import { and, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import { users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import { readTokenBalance, type TokenChains } from '../wallets/balance.ts'
import { createWallet } from '../wallets/create.ts'
import { managedWallets, type WalletRow } from '../wallets/tables.ts'
import type { CreateAgentWalletRequest } from './schemas.ts'
import { operatorWallets } from './tables.ts'

/**
 * Returns the wallet of a user's agent, and creates it when there is none.
 * @throws AppError `not_found` for a missing user, a user other than the principal, and an agent that is not the
 * user's.
 */
export async function createAgentWallet(
  deps: Base,
  principal: Principal,
  { userId, agentId }: CreateAgentWalletRequest,
): Promise<WalletRow> {
  requireUser(deps.db, principal, userId)
  return (await createWallet(deps, { userId, agentId })).wallet
}

/** @throws AppError `not_found` for a missing user, and for any user but the principal unless that is the operator. */
export function requireUser(db: Db, principal: Principal, userId: string): void {
  const isAllowed = principal.kind === 'operator' || principal.user.id === userId
  const user = isAllowed && db.select({ id: users.id }).from(users).where(eq(users.id, userId)).get()
  if (!user) throw new AppError('not_found', 'User not found')
}

/**
 * Returns the USDC balance of a user's wallet in millionths. @throws AppError `not_found`, `unavailable` without a
 * chain.
 */
export async function readAgentBalance(
  deps: { db: Db; tokenChains: TokenChains },
  principal: Principal,
  { userId, address }: { userId: string; address: string },
): Promise<bigint> {
  const isTheirs = principal.kind === 'operator' || principal.user.id === userId
  const wallet = isTheirs ? findSplitWallet(deps.db, userId, address) : null
  if (!wallet) throw new AppError('not_found', 'Wallet not found')
  return readTokenBalance(deps.tokenChains, 'USDC', wallet.address)
}

/** Finds a wallet by address in any case: the user's, or the operator's under the user's name. */
export function findSplitWallet(db: Db, userId: string, address: string): WalletRow | null {
  const wallet = db.select().from(managedWallets).where(eq(managedWallets.address, address.toLowerCase())).get()
  if (!wallet) return null
  if (wallet.userId !== null) return wallet.userId === userId ? wallet : null
  const isNamed = and(eq(operatorWallets.walletId, wallet.id), eq(operatorWallets.userId, userId))
  return db.select().from(operatorWallets).where(isNamed).get() ? wallet : null
}
