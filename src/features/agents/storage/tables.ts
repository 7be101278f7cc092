import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../registry/tables.ts'

/**
 * Storage of each agent. `workspaceBytes` is the last measurement plus later writes through the file explorer; triggers
 * maintain the other columns. `measuredAt` is null when a measurement is due.
 */
export const agentStorage = sqliteTable(
  'agent_storage',
  {
    agentId: text()
      .primaryKey()
      .references(() => agents.id, { onDelete: 'cascade' }),
    ownerId: text(),
    messageBytes: integer().notNull().default(0),
    memoryBytes: integer().notNull().default(0),
    inboxBytes: integer().notNull().default(0),
    workspaceBytes: integer().notNull().default(0),
    measuredAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    index('agent_storage_by_owner').on(table.ownerId),
    index('agent_storage_by_measurement').on(table.measuredAt),
  ],
)

/** Storage of all agents of an account, and its extra allowance. */
export const userStorage = sqliteTable('user_storage', {
  userId: text()
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  usedBytes: integer().notNull().default(0),
  grantedBytes: integer().notNull().default(0),
})
