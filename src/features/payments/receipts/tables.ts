import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { LEDGER_CURRENCIES } from '../ledger/accounts.ts'

const METHODS = ['card', 'credits', 'mpp', 'x402'] as const

/**
 * One row per payment that was taken. `userId` is null for one without an account. `cause` is that of its entry in the
 * ledger, `reference` what the other side calls it: an invoice, a transaction. Amounts are millionths of `currency`;
 * `refundedMicros` went back to the balance of the account.
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
