import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { agents } from '../../agents/registry/tables.ts'

/** Agents that joined the built-in colony, with their payment address. */
export const colonyMembers = sqliteTable(
  'colony_members',
  {
    agentId: text()
      .primaryKey()
      .references(() => agents.id, { onDelete: 'cascade' }),
    walletAddress: text().notNull(),
    designation: text(),
    joinedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [index('colony_members_by_time').on(table.joinedAt)],
)
