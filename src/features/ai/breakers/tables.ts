import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'

/** Scopes of a pause, from narrow to wide. */
export const PAUSE_SCOPES = ['agent', 'owner', 'platform'] as const

/** Daily caps (UTC) of agents; null is no limit. */
export const agentCaps = sqliteTable('agent_caps', {
  agentId: text()
    .primaryKey()
    .references(() => agents.id, { onDelete: 'cascade' }),
  tokensPerDay: integer(),
  costMicroUsdPerDay: integer(),
  updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
})

/** Active pauses. `id` combines scope and subject, so that each has at most one. */
export const pauses = sqliteTable(
  'pauses',
  {
    id: text().primaryKey(),
    scope: text({ enum: PAUSE_SCOPES }).notNull(),
    agentId: text().references(() => agents.id, { onDelete: 'cascade' }),
    ownerId: text().references(() => users.id, { onDelete: 'cascade' }),
    reason: text().notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('pauses_by_agent').on(table.agentId),
    index('pauses_by_owner').on(table.ownerId),
    oneOf('pauses_scope', table.scope, PAUSE_SCOPES),
  ],
)

/** Cap alerts that were sent, so that each share is reported once a day. */
export const capAlerts = sqliteTable(
  'cap_alerts',
  {
    agentId: text().notNull(),
    day: text().notNull(),
    percent: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.agentId, table.day, table.percent] })],
)
