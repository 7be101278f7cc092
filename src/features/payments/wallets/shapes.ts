import type { Holdings, TokenTerms } from '../../../adapters/chain/token-chain.ts'
import { formatMicroUsd } from '../../../core/money.ts'
import { trimTrailing } from '../../../core/text/trim.ts'
import type { Db } from '../../../db/open.ts'
import type { TokenChains } from './balance.ts'
import { readSpent } from './policy.ts'
import type { AddressBalances, Asset, Payment, Wallet } from './schemas.ts'
import type { PaymentRow, WalletRow } from './tables.ts'

const NATIVE_DECIMALS = 18
const TOKEN_DECIMALS = 6
const TOKEN_NAMES = { USDC: 'USD Coin', pathUSD: 'pathUSD' } as const

/** A wallet without its key. */
export function toWallet(db: Db, row: WalletRow, now: Date): Wallet {
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

/** A payment without its signed transaction. */
export function toPayment(chains: TokenChains, row: PaymentRow): Payment {
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

/** What an address holds, in the form of Interface 4.15. */
export function toAddressBalances(terms: TokenTerms, address: string, holdings: Holdings): AddressBalances {
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

/** An integer of the smallest unit as a decimal number, exactly. */
export function toDecimalText(raw: bigint, decimals: number): string {
  const digits = raw.toString().padStart(decimals + 1, '0')
  const fraction = trimTrailing(digits.slice(-decimals), '0')
  return `${digits.slice(0, -decimals)}${fraction && `.${fraction}`}`
}
