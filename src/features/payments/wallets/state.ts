import { eq } from 'drizzle-orm'
import { toAddress } from '../../../adapters/chain/token-chain.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { wallets as signInWallets } from '../../accounts/sign-in/tables.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { readBalances, readHoldings, type TokenChains } from './balance.ts'
import { findWallet, type WalletOwner } from './create.ts'
import type { AddressBalances, WalletState } from './schemas.ts'
import { toAddressBalances, toDecimalText, toWallet } from './shapes.ts'

export type WalletStateDeps = { db: Db; clock: Clock; tokenChains: TokenChains }

const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/
const TOKEN_DECIMALS = 6

/** The caller's own wallet, or that of an agent of theirs. @throws AppError `not_found` for somebody else's agent. */
export function toOwner(db: Db, user: SignedInUser, agentId: string | undefined): WalletOwner {
  if (agentId === undefined) return { userId: user.id, agentId: null }
  return { userId: user.id, agentId: getAgent(db, { kind: 'user', user }, agentId).id }
}

/** A wallet with what it holds; `hasWallet: false` when there is none. */
export async function readWalletState(
  { db, clock, tokenChains }: WalletStateDeps,
  owner: WalletOwner,
): Promise<WalletState> {
  const { network } = tokenChains.USDC.terms
  const row = findWallet(db, owner)
  if (!row) {
    const message = 'No wallet found. Create one to get started.'
    return { address: null, balance: '0', network, hasWallet: false, message }
  }
  const balances = (await readBalances(tokenChains, row.address)).map(({ microUsd, ...rest }) => ({
    ...rest,
    balance: microUsd === null ? null : toDecimalText(microUsd, TOKEN_DECIMALS),
  }))
  return {
    address: row.address,
    balance: balances.find(({ currency }) => currency === 'USDC')?.balance ?? null,
    network,
    hasWallet: true,
    createdAt: row.createdAt.toISOString(),
    balances,
    wallet: toWallet(db, row, clock.now()),
  }
}

/** What any address holds. @throws AppError `invalid`, `unavailable` without a chain, `internal` when it cannot be asked. */
export async function describeAddress({ tokenChains }: WalletStateDeps, address: string): Promise<AddressBalances> {
  if (!EVM_ADDRESS.test(address)) throw new AppError('invalid', 'Valid address parameter required')
  const chain = tokenChains.USDC
  chain.requireConfigured()
  const holdings = await readHoldings(chain, toAddress(address)).catch((cause: unknown) => {
    throw new AppError('internal', 'Failed to fetch wallet data', {}, { cause })
  })
  return toAddressBalances(chain.terms, address, holdings)
}

/** The address of a user: that of the wallet kept for them, else one with which they sign in. */
export function describeOwnAddress({ db, tokenChains }: WalletStateDeps, user: SignedInUser) {
  const { network } = tokenChains.USDC.terms
  const kept = findWallet(db, { userId: user.id, agentId: null })
  if (kept) return { authenticated: true, address: kept.address, network, type: 'managed', source: 'managed' }
  const linked = db.select().from(signInWallets).where(eq(signInWallets.userId, user.id)).get()
  if (linked) return { authenticated: true, address: linked.address, network, type: 'base-auth', source: 'session' }
  const message = 'No Base wallet linked. Sign in with Base to use send and receive.'
  return { authenticated: true, address: null, message }
}
