import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { LEDGER_CURRENCIES } from '../ledger/accounts.ts'

const METHODS = ['card', 'credits', 'mpp', 'x402'] as const

/**
 * One row per received payment. `userId` is null for anonymous payments. `cause` is that of the ledger entry,
 * `reference` the invoice or transaction. Amounts are millionths of `currency`.
 */
export const receipts = sqliteTable(
  'receipts',
  {
    id: text().primaryKey(),
    userId: text(),
    cause: text().notNull().unique(),
    what: text().notNull(),
    method: text({ enum: METHODS }).notNull(),
    amountMicros: integer().notNull(),
    currency: text({ enum: LEDGER_CURRENCIES }).notNull(),
    reference: text(),
    payer: text(),
    refundedMicros: integer().notNull().default(0),
    refundReason: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('receipts_by_user').on(table.userId, table.createdAt),
    oneOf('receipts_method', table.method, METHODS),
    oneOf('receipts_currency', table.currency, LEDGER_CURRENCIES),
    check('receipts_refund', sql`${table.refundedMicros} BETWEEN 0 AND ${table.amountMicros}`),
  ],
)
export type ReceiptRow = typeof receipts.$inferSelect
