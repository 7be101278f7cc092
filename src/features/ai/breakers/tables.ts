import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'

/** What stops: one agent, those of one owner, or all of this installation. */
export const PAUSE_SCOPES = ['agent', 'owner', 'platform'] as const

/** What an agent may use of models in a day (UTC); null is no limit, and an agent without a row has none. */
export const agentCaps = sqliteTable('agent_caps', {
  agentId: text()
    .primaryKey()
    .references(() => agents.id, { onDelete: 'cascade' }),
  tokensPerDay: integer(),
  costMicroUsdPerDay: integer(),
  updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
})

/** Who asks no model until the row goes: an agent, those of an owner, or all. `id` names it, so that each has one. */
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

/** Which shares of a day's cap an agent's owner was already told of, so that each is told once. */
export const capAlerts = sqliteTable(
  'cap_alerts',
  {
    agentId: text().notNull(),
    day: text().notNull(),
    percent: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.agentId, table.day, table.percent] })],
)
