/** Currencies of the ledger, each in millionths. Every entry balances per currency. */
export const LEDGER_CURRENCIES = ['USD', 'GBP', 'USDC', 'pathUSD'] as const
export type LedgerCurrency = (typeof LEDGER_CURRENCIES)[number]

/** Accounts that hold users' money; their balance is never negative. */
export const HOLDING_KINDS = ['credits', 'escrow'] as const

/**
 * `credits` is a user's prepaid balance, `escrow` money held until a condition is met. `wallets` is what left a user's
 * wallets for `payees`; its balance is negative because deposits arrive on the chain, outside the ledger. The others
 * are the operator's: `cards` and `chain` are sources and sinks of money, `sales` is income, `grants` is credits given
 * away.
 */
export const ACCOUNT_KINDS = [...HOLDING_KINDS, 'wallets', 'payees', 'cards', 'chain', 'sales', 'grants'] as const
type AccountKind = (typeof ACCOUNT_KINDS)[number]

/** An account by name; its first line creates it. `ownerId` is empty for the operator's accounts. */
export type Account = { kind: AccountKind; ownerId: string; currency: LedgerCurrency }

/** Returns one of the operator's accounts. */
export function platformAccount(
  kind: Exclude<AccountKind, 'credits' | 'escrow' | 'wallets'>,
  currency: LedgerCurrency,
): Account {
  return { kind, ownerId: '', currency }
}

/** Returns a user's prepaid balance account, in US dollars. */
export function creditsOf(userId: string): Account {
  return { kind: 'credits', ownerId: userId, currency: 'USD' }
}

/** Returns the account of payments from a user's wallets; null for deleted users. */
export function walletsOf(userId: string | null, currency: LedgerCurrency): Account {
  return { kind: 'wallets', ownerId: userId ?? '', currency }
}

/** One credit, the unit that users see, is a cent. */
export const MICRO_USD_PER_CREDIT = 10_000

export function isHolding(kind: AccountKind): boolean {
  return HOLDING_KINDS.some((holding) => holding === kind)
}
