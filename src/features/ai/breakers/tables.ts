import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { LIMIT_KINDS, type LimitAction, type LimitKind } from '../../../core/agents/day-limits.ts'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'

/** Scopes of a pause, from narrow to wide. */
export const PAUSE_SCOPES = ['agent', 'owner', 'platform'] as const

/**
 * Daily limits of agents, in the owner's time zone; null is no limit. `actions` holds what happens at each; `pause`
 * unless it names another.
 */
export const agentCaps = sqliteTable('agent_caps', {
  agentId: text()
    .primaryKey()
    .references(() => agents.id, { onDelete: 'cascade' }),
  tokensPerDay: integer(),
  costMicroUsdPerDay: integer(),
  messagesPerDay: integer(),
  toolCallsPerDay: integer(),
  filesPerDay: integer(),
  actions: text({ mode: 'json' }).$type<Partial<Record<LimitKind, LimitAction>>>().notNull().default({}),
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

/**
 * The actions of an agent on a day of its owner's time zone. `used` counts messages, tool calls and files; money and
 * tokens are in the usage records. `extra` is what the owner has allowed beyond the limit, in micro-USD for money.
 * `reachedAt` is when something was first refused.
 */
export const agentDayCounts = sqliteTable(
  'agent_day_counts',
  {
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    day: text().notNull(),
    kind: text({ enum: LIMIT_KINDS }).notNull(),
    used: integer().notNull().default(0),
    extra: integer().notNull().default(0),
    reachedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    primaryKey({ columns: [table.agentId, table.day, table.kind] }),
    oneOf('agent_day_counts_kind', table.kind, LIMIT_KINDS),
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
