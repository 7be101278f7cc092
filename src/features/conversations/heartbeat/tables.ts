import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'

/**
 * Heartbeat of a user's agents. No row means the defaults. `agentId` null means all agents; settings for one agent are
 * deleted with it. `nextHeartbeatAt` is null while it is off.
 */
export const heartbeats = sqliteTable(
  'heartbeats',
  {
    userId: text()
      .primaryKey()
      .references(() => users.id, { onDelete: 'cascade' }),
    agentId: text().references(() => agents.id, { onDelete: 'cascade' }),
    frequency: text().notNull(),
    everyMs: integer().notNull(),
    enabled: integer({ mode: 'boolean' }).notNull(),
    lastHeartbeatAt: integer({ mode: 'timestamp_ms' }),
    nextHeartbeatAt: integer({ mode: 'timestamp_ms' }),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [index('heartbeats_due').on(table.nextHeartbeatAt), index('heartbeats_by_agent').on(table.agentId)],
)
export type HeartbeatRow = typeof heartbeats.$inferSelect
