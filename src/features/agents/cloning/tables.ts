import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { agents } from '../registry/tables.ts'

/**
 * Transfers that have paid for a clone, one row each, for ever: the key lets a transfer pay once. `agentId` is the clone while
 * it exists. `amountMicroUsd` is null for those from before it was kept. `undoneAt` is since when the chain holds the transfer no
 * more, null while it does; `checkAt` is when it is looked at next, null once it stays.
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
