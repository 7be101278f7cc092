import { and, desc, eq, inArray, isNotNull, isNull, lt, lte, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { type RowPage, readPage } from '../../../db/pages.ts'
import { prepareOnce } from '../../../db/prepare-once.ts'
import { LEDGER_CURRENCIES, type LedgerCurrency, platformAccount, walletsOf } from '../ledger/accounts.ts'
import { postChainMovement } from '../ledger/post.ts'
import { type PaymentRow, type PaymentStatus, walletPayments } from './tables.ts'

/** @throws AppError `not_found`. */
export function getPayment(db: Db, id: string): PaymentRow {
  const row = db.select().from(walletPayments).where(eq(walletPayments.id, id)).get()
  if (!row) throw new AppError('not_found', 'Payment not found')
  return row
}

/** @throws AppError `not_found` for a missing payment and for another user's. */
export function getOwnPayment(db: Db, userId: string, id: string): PaymentRow {
  const row = getPayment(db, id)
  if (row.userId !== userId) throw new AppError('not_found', 'Payment not found')
  return row
}

type PaymentPage = { limit: number; before?: string | undefined; walletId?: string | undefined }

/** Lists a user's payments, newest first: ids are ordered by time. */
export function listPayments(db: Db, userId: string, { limit, before, walletId }: PaymentPage): RowPage<PaymentRow> {
  const conditions: (SQL | undefined)[] = [
    eq(walletPayments.userId, userId),
    before === undefined ? undefined : lt(walletPayments.id, before),
    walletId === undefined ? undefined : eq(walletPayments.walletId, walletId),
  ]
  const selection = db
    .select()
    .from(walletPayments)
    .where(and(...conditions))
    .orderBy(desc(walletPayments.createdAt), desc(walletPayments.id))
  return readPage(selection, limit)
}

/** At most `limit` payments that are due for a check at `nowMs`, the longest waiting first. */
export const duePayments = prepareOnce((db) =>
  db
    .select()
    .from(walletPayments)
    .where(lte(walletPayments.checkAt, sql.placeholder('nowMs')))
    .orderBy(walletPayments.checkAt)
    .limit(sql.placeholder('limit'))
    .prepare(),
)

/**
 * Changes a payment that is in one of the statuses `from`, and posts it to the ledger; null when its status has
 * changed.
 */
export function changePayment(
  tx: Tx,
  deps: { clock: Clock },
  id: string,
  from: readonly PaymentStatus[],
  change: Partial<PaymentRow>,
): PaymentRow | null {
  const isStill = and(eq(walletPayments.id, id), inArray(walletPayments.status, [...from]))
  const before = tx.select({ status: walletPayments.status }).from(walletPayments).where(isStill).get()
  if (!before) return null
  const after = tx.update(walletPayments).set(change).where(isStill).returning().get()
  postPaymentChange(tx, deps, before, after)
  return after
}

/** Changes a payment unless its status has changed meanwhile. @returns the current row. */
export function changeOrReread(
  tx: Tx,
  deps: { clock: Clock },
  { id, status }: PaymentRow,
  change: Partial<PaymentRow>,
): PaymentRow {
  return changePayment(tx, deps, id, [status], change) ?? getPayment(tx, id)
}

/** Lists nonces of transactions that are not final and may still be mined. */
export function listTakenNonces(db: Db, chainId: number, address: string): number[] {
  const isOpen = and(
    eq(walletPayments.chainId, chainId),
    eq(walletPayments.fromAddress, address),
    isNotNull(walletPayments.nonce),
    isNull(walletPayments.finalAt),
  )
  const rows = db.select({ nonce: walletPayments.nonce }).from(walletPayments).where(isOpen).all()
  return rows.flatMap(({ nonce }) => (nonce === null ? [] : [nonce]))
}

type Before = Pick<PaymentRow, 'status'>

/**
 * Posts a wallet payment when it succeeds, and its reversal when it no longer has, in the transaction that changes its
 * row. Payments by an external gateway move no money here.
 */
function postPaymentChange(tx: Tx, deps: { clock: Clock }, before: Before, after: PaymentRow): void {
  if (after.kind === 'upstream' || hasSucceeded(before) === hasSucceeded(after)) return
  const { id, userId, recipient, purpose, amountMicroUsd: amount } = after
  const currency = toCurrency(after)
  postChainMovement(tx, deps, {
    reference: `wallet:${id}`,
    memo: `Paid from a wallet to ${recipient} (${purpose})`,
    from: walletsOf(userId, currency),
    to: platformAccount('payees', currency),
    amount,
    isUndone: !hasSucceeded(after),
  })
}

function hasSucceeded({ status }: Before): boolean {
  return status === 'succeeded'
}

function toCurrency({ id, currency }: PaymentRow): LedgerCurrency {
  const known = LEDGER_CURRENCIES.find((one) => one === currency)
  if (!known) throw new Error(`The payment ${id} is in ${currency}, in which no books are kept`)
  return known
}
