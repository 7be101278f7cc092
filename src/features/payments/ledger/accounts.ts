/** What the ledger counts, each in its own millionths: an entry balances in every currency by itself. */
export const LEDGER_CURRENCIES = ['USD', 'GBP', 'USDC', 'pathUSD'] as const
export type LedgerCurrency = (typeof LEDGER_CURRENCIES)[number]

/** Money that is somebody's and kept here for them: never below zero. */
export const HOLDING_KINDS = ['credits', 'escrow'] as const

/**
 * `credits` is what a user has paid ahead, `escrow` what is held until a condition is met. `wallets` is what left the wallets
 * of a user for `payees`: below zero, because what comes to a wallet comes by the chain, past these books. The others are the
 * operator's view of the world: `cards` and `chain` are where money comes from and leaves to, `sales` what was earned,
 * `grants` what was given away.
 */
export const ACCOUNT_KINDS = [...HOLDING_KINDS, 'wallets', 'payees', 'cards', 'chain', 'sales', 'grants'] as const
export type AccountKind = (typeof ACCOUNT_KINDS)[number]

/** An account by its name. It comes into being with its first line. `ownerId` is empty for the operator's own. */
export type Account = { kind: AccountKind; ownerId: string; currency: LedgerCurrency }

/** One of the operator's own accounts. */
export function platformAccount(
  kind: Exclude<AccountKind, 'credits' | 'escrow' | 'wallets'>,
  currency: LedgerCurrency,
): Account {
  return { kind, ownerId: '', currency }
}

/** What a user has paid ahead, in US dollars. */
export function creditsOf(userId: string): Account {
  return { kind: 'credits', ownerId: userId, currency: 'USD' }
}

/** What left the wallets of a user, and of those whose user is gone for `null`. */
export function walletsOf(userId: string | null, currency: LedgerCurrency): Account {
  return { kind: 'wallets', ownerId: userId ?? '', currency }
}

/** One credit, which is what balances are shown in, is a cent of a US dollar. */
export const MICRO_USD_PER_CREDIT = 10_000

export function isHolding(kind: AccountKind): boolean {
  return HOLDING_KINDS.some((holding) => holding === kind)
}
