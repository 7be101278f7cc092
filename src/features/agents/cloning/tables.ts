import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { agents } from '../registry/tables.ts'

/** Transfers that have paid for a clone, one row each, for ever: the key lets a transfer pay once. `agentId` is the clone while it exists. */
export const clonePayments = sqliteTable(
  'clone_payments',
  {
    chainId: integer().notNull(),
    transactionHash: text().notNull(),
    logIndex: integer().notNull(),
    agentId: text().references(() => agents.id, { onDelete: 'set null' }),
    claimedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.chainId, table.transactionHash, table.logIndex] }),
    index('clone_payments_by_agent').on(table.agentId),
  ],
)
