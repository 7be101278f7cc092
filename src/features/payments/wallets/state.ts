import { eq } from 'drizzle-orm'
import { type Holdings, type TokenTerms, toAddress } from '../../../adapters/chain/token-chain.ts'
import { AppError } from '../../../core/errors.ts'
import { formatMicroUsd } from '../../../core/money.ts'
import { trimTrailing } from '../../../core/text/trim.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { wallets as signInWallets } from '../../accounts/sign-in/tables.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { Base } from '../../base.ts'
import { readBalances, readHoldings, type TokenChains } from './balance.ts'
import { findWallet, type WalletOwner } from './create.ts'
import { readSpent } from './policy.ts'
import type { AddressBalances, Asset, ManagedWallet, WalletPayment, WalletState } from './schemas.ts'
import type { PaymentRow, WalletRow } from './tables.ts'

const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/

/**
 * Returns the owner for the caller's own wallet or an agent's. @throws AppError `not_found` for another user's agent.
 */
export function toOwner(db: Db, user: SignedInUser, agentId: string | undefined): WalletOwner {
  if (agentId === undefined) return { userId: user.id, agentId: null }
  return { userId: user.id, agentId: getAgent(db, { kind: 'user', user }, agentId).id }
}

/** Returns a wallet with its holdings; `hasWallet: false` without one. */
export async function readWalletState(
  { db, clock, tokenChains }: Base & { tokenChains: TokenChains },
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

/**
 * Returns the holdings of any address. @throws AppError `invalid`, `unavailable` without a chain, `internal` when it
 * cannot be reached.
 */
export async function describeAddress(
  { tokenChains }: { tokenChains: TokenChains },
  address: string,
): Promise<AddressBalances> {
  if (!EVM_ADDRESS.test(address)) throw new AppError('invalid', 'Valid address parameter required')
  const chain = tokenChains.USDC
  chain.requireConfigured()
  const holdings = await readHoldings(chain, toAddress(address)).catch((cause: unknown) => {
    throw new AppError('internal', 'Failed to fetch wallet data', {}, { cause })
  })
  return toAddressBalances(chain.terms, address, holdings)
}

/** Returns the user's address: of the managed wallet, else of a sign-in wallet. */
export function describeOwnAddress({ db, tokenChains }: { db: Db; tokenChains: TokenChains }, user: SignedInUser) {
  const { network } = tokenChains.USDC.terms
  const kept = findWallet(db, { userId: user.id, agentId: null })
  if (kept) return { authenticated: true, address: kept.address, network, type: 'managed', source: 'managed' }
  const linked = db.select().from(signInWallets).where(eq(signInWallets.userId, user.id)).get()
  if (linked) return { authenticated: true, address: linked.address, network, type: 'base-auth', source: 'session' }
  const message = 'No Base wallet linked. Sign in with Base to use send and receive.'
  return { authenticated: true, address: null, message }
}

const NATIVE_DECIMALS = 18
const TOKEN_DECIMALS = 6
const TOKEN_NAMES = { USDC: 'USD Coin', pathUSD: 'pathUSD' } as const

/** Returns a wallet without its key. */
export function toWallet(db: Db, row: WalletRow, now: Date): ManagedWallet {
  const spent = readSpent(db, row.id, now)
  const dollars = (microUsd: number | null) => (microUsd === null ? null : formatMicroUsd(microUsd, 2))
  return {
    id: row.id,
    kind: row.kind,
    agentId: row.agentId,
    address: row.address,
    createdAt: row.createdAt.toISOString(),
    policy: {
      perPayment: dollars(row.perPaymentMicroUsd),
      perDay: dollars(row.perDayMicroUsd),
      perMonth: dollars(row.perMonthMicroUsd),
      approvalAbove: dollars(row.approvalAboveMicroUsd),
      recipients: row.recipients,
      frozen: row.frozenAt !== null,
    },
    spentToday: formatMicroUsd(spent.day, 2),
    spentThisMonth: formatMicroUsd(spent.month, 2),
  }
}

/** Returns a payment without its signed transaction. */
export function toPayment(chains: TokenChains, row: PaymentRow): WalletPayment {
  const chain = Object.values(chains).find(({ terms }) => terms.chainId === row.chainId)
  const explorer = chain?.terms.explorerUrl ?? null
  return {
    id: row.id,
    kind: row.kind,
    purpose: row.purpose,
    agentId: row.agentId,
    recipient: row.recipient,
    amount: formatMicroUsd(row.amountMicroUsd, 2),
    currency: row.currency,
    status: row.status,
    reason: row.reason,
    transactionHash: row.transactionHash,
    explorerUrl: explorer && row.transactionHash ? `${explorer}/tx/${row.transactionHash}` : null,
    undoneAt: row.undoneAt?.toISOString() ?? null,
    approvalExpiresAt: row.approvalExpiresAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    settledAt: row.settledAt?.toISOString() ?? null,
  }
}

function toAddressBalances(terms: TokenTerms, address: string, holdings: Holdings): AddressBalances {
  const { network, chainId, isTestnet, explorerUrl } = terms
  const nativeBalance = toAsset({
    address: 'native',
    name: terms.nativeSymbol === 'ETH' ? 'Ether' : terms.nativeSymbol,
    symbol: terms.nativeSymbol,
    decimals: NATIVE_DECIMALS,
    raw: holdings.native,
    explorerUrl: explorerUrl && `${explorerUrl}/address/${address}`,
  })
  const primaryToken = toAsset({
    address: terms.token,
    name: TOKEN_NAMES[terms.currency],
    symbol: terms.currency,
    decimals: TOKEN_DECIMALS,
    raw: holdings.token,
    explorerUrl: explorerUrl && `${explorerUrl}/token/${terms.token}?a=${address}`,
  })
  const assets = [nativeBalance, primaryToken]
  return {
    address,
    chain: network === 'base' ? 'Base' : network,
    chainId,
    testnet: isTestnet,
    explorerUrl: explorerUrl && `${explorerUrl}/address/${address}`,
    nativeBalance,
    primaryToken,
    allTokens: assets.filter(({ balanceRaw }) => balanceRaw !== '0'),
    assets,
  }
}

function toAsset({ raw, ...asset }: Omit<Asset, 'balance' | 'balanceRaw'> & { raw: bigint }): Asset {
  return { ...asset, balance: toDecimalText(raw, asset.decimals), balanceRaw: raw.toString() }
}

/** Formats an integer of the smallest unit as an exact decimal. */
function toDecimalText(raw: bigint, decimals: number): string {
  const digits = raw.toString().padStart(decimals + 1, '0')
  const fraction = trimTrailing(digits.slice(-decimals), '0')
  return `${digits.slice(0, -decimals)}${fraction && `.${fraction}`}`
}
