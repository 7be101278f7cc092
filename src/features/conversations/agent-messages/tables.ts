import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { users } from '../../accounts/users/tables.ts'

/** Users' credentials for services of their agents. Each value is sealed for its row. */
export const agentCredentials = sqliteTable(
  'agent_credentials',
  {
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    sealedValue: text().notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.key] })],
)
