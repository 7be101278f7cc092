import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { users } from '../../people/users/tables.ts'

/** Which abilities a user has turned on or off, one row for each that was ever set. */
export const agentSkills = sqliteTable(
  'agent_skills',
  {
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    skillId: text().notNull(),
    enabled: integer({ mode: 'boolean' }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.skillId] })],
)

/** Users' credentials for the services of their agents, sealed for their row. */
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
