import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { agents } from '../registry/tables.ts'

/**
 * Transfers that paid for a clone, kept for ever: the primary key lets each pay once. `agentId` is null after the clone
 * is deleted, `amountMicroUsd` when the amount was not recorded. `undoneAt` is set while the chain no longer holds the
 * transfer; `checkAt` is null once the payment is final.
 */
export const clonePayments = sqliteTable(
  'clone_payments',
  {
    chainId: integer().notNull(),
    transactionHash: text().notNull(),
    logIndex: integer().notNull(),
    agentId: text().references(() => agents.id, { onDelete: 'set null' }),
    claimedAt: integer({ mode: 'timestamp_ms' }).notNull(),
    amountMicroUsd: integer(),
    undoneAt: integer({ mode: 'timestamp_ms' }),
    checkAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.transactionHash, table.logIndex] }),
    index('clone_payments_by_agent').on(table.agentId),
    index('clone_payments_by_check').on(table.checkAt),
  ],
)
export type ClonePaymentRow = typeof clonePayments.$inferSelect
