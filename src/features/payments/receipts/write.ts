import { and, desc, eq, isNull, lt, or, type SQL } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { formatMicroUsd } from '../../../core/money.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Receipt } from './schemas.ts'
import { type ReceiptRow, receipts } from './tables.ts'

export type NewReceipt = Omit<typeof receipts.$inferInsert, 'id' | 'refundedMicros' | 'refundReason'>

/** Writes the receipt of a payment in the closure that posts it, once for its cause. @returns the one that stands there. */
export function writeReceipt(tx: Tx, receipt: NewReceipt): ReceiptRow {
  tx.insert(receipts)
    .values({ ...receipt, id: newId('rcp') })
    .onConflictDoNothing({ target: receipts.cause })
    .run()
  return getRow(tx, eq(receipts.cause, receipt.cause))
}

/** Notes that a payment, or what is left of it, went back, or with 0 that it is used after all. */
export function noteRefund(tx: Tx, id: string, refundedMicros: number, refundReason: string | null): void {
  tx.update(receipts).set({ refundedMicros, refundReason }).where(eq(receipts.id, id)).run()
}

/** A user's receipts before the time of `before`, newest first. */
export function listReceipts(db: Db, userId: string, { before, limit }: { before?: Date | undefined; limit: number }) {
  const rows = db
    .select()
    .from(receipts)
    .where(and(eq(receipts.userId, userId), before && lt(receipts.createdAt, before)))
    .orderBy(desc(receipts.createdAt), desc(receipts.id))
    .limit(limit)
    .all()
  return rows.map(toReceipt)
}

/**
 * A receipt for its owner; one of a payment without an account for whoever has its id.
 * @throws AppError `not_found`.
 */
export function getReceipt(db: Db, id: string, userId: string | null): Receipt {
  const isTheirs = userId === null ? isNull(receipts.userId) : or(isNull(receipts.userId), eq(receipts.userId, userId))
  return toReceipt(getRow(db, and(eq(receipts.id, id), isTheirs)))
}

function getRow(db: Db, condition: SQL | undefined): ReceiptRow {
  const row = db.select().from(receipts).where(condition).get()
  if (!row) throw new AppError('not_found', 'Receipt not found')
  return row
}

export function toReceipt(row: ReceiptRow): Receipt {
  return {
    id: row.id,
    createdAt: row.createdAt.toISOString(),
    what: row.what,
    method: row.method,
    amount: formatMicroUsd(row.amountMicros, 2),
    currency: row.currency,
    reference: row.reference,
    payer: row.payer,
    refunded: row.refundedMicros === 0 ? null : formatMicroUsd(row.refundedMicros, 2),
    refundedTo: row.refundedMicros === 0 ? null : row.userId === null ? 'payer' : 'credits',
    refundReason: row.refundReason,
  }
}
