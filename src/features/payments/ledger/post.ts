import { and, eq, gt, lt } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { formatMicroUsd } from '../../../core/money.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { BookClonePayment } from '../../agents/cloning/clone.ts'
import { type Account, isHolding, platformAccount } from './accounts.ts'
import { ledgerAccounts, ledgerEntries, ledgerLines } from './tables.ts'

/** Change of an account's balance, in millionths of its currency. */
export type LedgerMovement = { account: Account; amount: number }

/** `cause` is the permanent name of the event, such as `stripe:evt_1`. `memo` is for people. */
export type Posting = { cause: string; memo: string; lines: readonly LedgerMovement[] }

/**
 * Posts an entry in the transaction of its cause. Repeating a cause changes nothing.
 * @returns whether it was posted now.
 * @throws AppError `payment_required` INSUFFICIENT_FUNDS {balance, needed} when a holding account would become
 * negative, `conflict` when the cause was posted with other lines; Error when the lines do not balance per currency or
 * are not integers.
 */
export function post(tx: Tx, deps: { clock: Clock }, { cause, memo, lines }: Posting): boolean {
  const moved = mergeLines(lines)
  requireBalanced(moved)
  const posted = tx.select({ id: ledgerEntries.id }).from(ledgerEntries).where(eq(ledgerEntries.cause, cause)).get()
  if (posted) {
    requireSame(tx, posted.id, cause, moved)
    return false
  }
  const createdAt = deps.clock.now()
  const entry = tx.insert(ledgerEntries).values({ cause, memo, createdAt })
  const { id: entryId } = entry.returning({ id: ledgerEntries.id }).get()
  for (const line of moved) postLine(tx, { entryId, createdAt }, line)
  return true
}

function postLine(
  tx: Tx,
  { entryId, createdAt }: { entryId: number; createdAt: Date },
  { account, amount }: LedgerMovement,
): void {
  const { id: accountId, balance } = openLedgerAccount(tx, account, createdAt)
  const balanceAfter = requireFunds(account, balance, amount)
  tx.update(ledgerAccounts).set({ balance: balanceAfter }).where(eq(ledgerAccounts.id, accountId)).run()
  tx.insert(ledgerLines).values({ entryId, accountId, amount, balanceAfter }).run()
}

/** Posts an entry that moves `amount` between two accounts, as `post` does. */
export function transfer(
  tx: Tx,
  deps: { clock: Clock },
  { from, to, amount, ...entry }: Omit<Posting, 'lines'> & { from: Account; to: Account; amount: number },
): boolean {
  if (amount <= 0) throw new Error('A transfer moves something')
  return post(tx, deps, {
    ...entry,
    lines: [
      { account: from, amount: -amount },
      { account: to, amount },
    ],
  })
}

/** Returns the balance in millionths of the currency; zero without postings. */
export function readBalance(db: Db, account: Account): number {
  return findAccount(db, account)?.balance ?? 0
}

/** Merges the lines per account and drops those that cancel out. */
function mergeLines(lines: readonly LedgerMovement[]): LedgerMovement[] {
  const merged = new Map<string, LedgerMovement>()
  for (const { account, amount } of lines) {
    if (!Number.isSafeInteger(amount)) throw new Error(`${amount} is no whole number of millionths`)
    const key = toKey(account)
    merged.set(key, { account, amount: (merged.get(key)?.amount ?? 0) + amount })
  }
  return [...merged.values()].filter(({ amount }) => amount !== 0)
}

function requireBalanced(lines: readonly LedgerMovement[]): void {
  const sums = new Map<string, number>()
  for (const { account, amount } of lines) sums.set(account.currency, (sums.get(account.currency) ?? 0) + amount)
  if (lines.length === 0) throw new Error('An entry moves something')
  for (const [currency, sum] of sums) {
    if (sum !== 0) throw new Error(`The lines of an entry are ${formatMicroUsd(sum, 2)} ${currency} apart`)
  }
}

function requireSame(tx: Tx, entryId: number, cause: string, lines: readonly LedgerMovement[]): void {
  const { kind, ownerId, currency } = ledgerAccounts
  const posted = tx
    .select({ account: { kind, ownerId, currency }, amount: ledgerLines.amount })
    .from(ledgerLines)
    .innerJoin(ledgerAccounts, eq(ledgerAccounts.id, ledgerLines.accountId))
    .where(eq(ledgerLines.entryId, entryId))
    .all()
  const toText = (all: readonly LedgerMovement[]) =>
    all
      .map(({ account, amount }) => `${toKey(account)}=${amount}`)
      .sort()
      .join('\n')
  if (toText(posted) !== toText(lines)) throw new AppError('conflict', `${cause} was posted with other amounts`)
}

function requireFunds({ kind, currency }: Account, balance: number, amount: number): number {
  const after = balance + amount
  if (!Number.isSafeInteger(after)) throw new Error('A balance is beyond what can be counted exactly')
  if (after >= 0 || !isHolding(kind)) return after
  const figures = { balance: formatMicroUsd(balance, 2), needed: formatMicroUsd(-amount, 2), currency }
  const message = `Insufficient balance: ${figures.needed} ${currency} needed, ${figures.balance} available`
  throw new AppError('payment_required', message, { code: 'INSUFFICIENT_FUNDS', ...figures })
}

function openLedgerAccount(tx: Tx, account: Account, createdAt: Date): { id: number; balance: number } {
  const found = findAccount(tx, account)
  if (found) return found
  const { id, balance } = ledgerAccounts
  return tx
    .insert(ledgerAccounts)
    .values({ ...account, createdAt })
    .returning({ id, balance })
    .get()
}

function findAccount(db: Db, { kind, ownerId, currency }: Account) {
  return db
    .select({ id: ledgerAccounts.id, balance: ledgerAccounts.balance })
    .from(ledgerAccounts)
    .where(
      and(eq(ledgerAccounts.kind, kind), eq(ledgerAccounts.ownerId, ownerId), eq(ledgerAccounts.currency, currency)),
    )
    .get()
}

function toKey({ kind, ownerId, currency }: Account): string {
  return JSON.stringify([kind, ownerId, currency])
}

/** A transfer on a chain; `isUndone` when a reorganization reverted it. `reference` names the payment. */
type ChainMovement = {
  reference: string
  memo: string
  from: Account
  to: Account
  amount: number
  isUndone: boolean
}

/**
 * Posts a transfer on a chain, or its reversal. A chain can revert more than once, so each change is an entry of its
 * own; the caller calls this once per change.
 */
export function postChainMovement(tx: Tx, deps: { clock: Clock }, movement: ChainMovement): void {
  const { reference, memo, from, to, amount, isUndone } = movement
  const cause = `${reference}:${countEntries(tx, reference) + 1}`
  if (isUndone) transfer(tx, deps, { cause, memo: `${memo}, taken back by the chain`, from: to, to: from, amount })
  else transfer(tx, deps, { cause, memo, from, to, amount })
}

/** Counts the entries whose cause is `reference:` with a suffix. */
export function countEntries(db: Db, reference: string): number {
  // In ASCII the semicolon follows the colon, so this range holds exactly the suffixes and uses the index.
  const isOfIt = and(gt(ledgerEntries.cause, `${reference}:`), lt(ledgerEntries.cause, `${reference};`))
  return countRows(db, ledgerEntries, isOfIt)
}

/** Posts payments for clones as sales, once per payment, and their reversals. */
export function createClonePaymentPosting(deps: { clock: Clock }): BookClonePayment {
  return (tx, { reference, amountMicroUsd: amount, isUndone }) => {
    const ends = { from: platformAccount('chain', 'pathUSD'), to: platformAccount('sales', 'pathUSD') }
    postChainMovement(tx, deps, { reference, memo: 'Payment for a clone', ...ends, amount, isUndone })
  }
}
