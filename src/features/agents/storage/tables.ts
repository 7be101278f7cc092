import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../registry/tables.ts'

/**
 * What each agent takes of its owner's storage. `workspaceBytes` is as it was last measured, with what was written through
 * the file explorer since; the others are kept in step with the rows by `figures.ts`. `measuredAt` is null
 * when it is to be measured soon.
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

/** What all agents of an account take together, and what it may take on top of its plan. */
export const userStorage = sqliteTable('user_storage', {
  userId: text()
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  usedBytes: integer().notNull().default(0),
  grantedBytes: integer().notNull().default(0),
})
