import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { users } from '../accounts/tables.ts'
import { agents } from '../agents/tables.ts'

/** What a user has an agent remember, one row a key; `value` is JSON text. */
export const agentMemory = sqliteTable(
  'agent_memory',
  {
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    value: text().notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.agentId, table.key] })],
)
export type MemoryRow = typeof agentMemory.$inferSelect
