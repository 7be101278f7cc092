import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../db/checks.ts'
import { users } from '../accounts/tables.ts'

const STATUSES = ['pending', 'provisioning', 'running', 'stopped', 'error', 'unknown'] as const

/**
 * One row per agent. `ownerId` is null for agents that the operator made with the internal key.
 * `port` is the lease of a host port, held until the row goes. Tokens are sealed: `gatewayToken` opens the agent,
 * `accessToken` is what the agent shows to us and is found by its hash.
 */
export const agents = sqliteTable(
  'agents',
  {
    id: text().primaryKey(),
    ownerId: text().references(() => users.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    model: text().notNull(),
    plan: text().notNull(),
    aiProvider: text().notNull(),
    status: text({ enum: STATUSES }).notNull(),
    port: integer().unique(),
    gatewayToken: text().notNull(),
    accessToken: text().notNull(),
    accessTokenHash: text().notNull().unique(),
    startedAt: integer({ mode: 'timestamp_ms' }),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [index('agents_by_owner').on(table.ownerId), oneOf('agents_status', table.status, STATUSES)],
)
export type AgentRow = typeof agents.$inferSelect
