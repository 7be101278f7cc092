import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { AGENT_KINDS, RUNTIMES } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Isolation } from '../../../core/agents/isolation.ts'
import { oneOf } from '../../../db/checks.ts'
import type { Guardrails } from '../../accounts/guardrails/schemas.ts'
import { users } from '../../accounts/users/tables.ts'

/** Status of an agent. */
export const AGENT_STATUSES = ['pending', 'provisioning', 'running', 'sleeping', 'stopped', 'error', 'unknown'] as const

/** Selects container agents with a known version; the index serves the latest ones. */
export const hasKnownVersion = sql`status IN ('running', 'sleeping') AND image IS NOT NULL AND runtime_version IS NOT NULL`

/**
 * One row per agent. `ownerId` is null for agents of the operator. `port` is leased until the row is deleted; `host` is
 * null for this machine. `image` is null while the platform's default applies; `runtime` is null before the first
 * deployment and never changes afterwards; `machine` is an agent on its owner's machine, whose gateway is on
 * `tunnelPort` of 127.0.0.1 while the machine is connected. `kind`, `host`, `runtimeVersion` and `isolation` are as
 * last inspected; `isolation` is null for containers. `config` is JSON; `secretConfig`, `gatewayToken` and
 * `accessToken` are encrypted. `tokensChangedAt` is set until the agent runs with its present tokens; until then
 * `retiringTokenHash` is valid as well. `downAt` is set while an agent that should run does not; `lastError` says why,
 * or why its last update was rolled back. `restoredState` names the file with the state from a backup, which the next
 * deployment restores and deletes.
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
    status: text({ enum: AGENT_STATUSES }).notNull(),
    port: integer().unique(),
    tunnelPort: integer(),
    host: text(),
    image: text(),
    runtime: text({ enum: RUNTIMES }),
    kind: text({ enum: AGENT_KINDS }).notNull().default('stead'),
    runtimeVersion: text(),
    isolation: text({ mode: 'json' }).$type<Isolation>(),
    config: text().notNull().default('{}'),
    secretConfig: text(),
    parentId: text(),
    generation: integer().notNull().default(1),
    specialization: text(),
    logBodies: integer({ mode: 'boolean' }).notNull().default(false),
    guardrails: text({ mode: 'json' }).$type<Guardrails>(),
    gatewayToken: text().notNull(),
    accessToken: text().notNull(),
    accessTokenHash: text().notNull().unique(),
    retiringTokenHash: text(),
    tokensChangedAt: integer({ mode: 'timestamp_ms' }),
    startedAt: integer({ mode: 'timestamp_ms' }),
    downAt: integer({ mode: 'timestamp_ms' }),
    lastError: text(),
    restoredState: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('agents_by_owner').on(table.ownerId),
    index('agents_by_time').on(table.createdAt, table.id),
    index('agents_by_runtime').on(table.runtime),
    index('agents_by_version').on(table.startedAt).where(hasKnownVersion),
    index('agents_by_retiring_token').on(table.retiringTokenHash),
    oneOf('agents_status', table.status, AGENT_STATUSES),
  ],
)
export type AgentRow = typeof agents.$inferSelect

/** Labels by which an owner groups agents; one row per agent and label. */
export const agentLabels = sqliteTable(
  'agent_labels',
  {
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    label: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.agentId, table.label] }), index('agent_labels_by_label').on(table.label)],
)
