import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { AGENT_KINDS, RUNTIMES } from '../../../adapters/runtimes/contract/runtime.ts'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'

/** Words an agent's status can take (decisions, 19). */
export const AGENT_STATUSES = ['pending', 'provisioning', 'running', 'sleeping', 'stopped', 'error', 'unknown'] as const

/** One in a container whose version was seen: anybody may ask which that is. */
export const tellsVersion = sql`status IN ('running', 'sleeping') AND image IS NOT NULL AND runtime_version IS NOT NULL`

/**
 * One row per agent. `ownerId` is null for agents that the operator made with the internal key.
 * `port` is the lease of a host port, held until the row goes; `host` is the machine it is on, null for this one. `image`
 * is null until one is chosen for it: then the platform's is taken. `runtime` is what runs it, chosen at its first
 * deployment and null before: it never changes afterwards (decisions, 41). `kind`, `host` and `runtimeVersion` are what was last
 * seen. `config` is JSON without secrets; those stand in `secretConfig`, sealed. Tokens are sealed too: `gatewayToken`
 * opens the agent, `accessToken` is what the agent shows to us and is found by its hash. `tokensChangedAt` is null unless
 * the agent has yet to be seen with its present tokens; until then it may show the one behind `retiringTokenHash`.
 * A `sleeping` one has been ended until somebody addresses it.
 * `downAt` is since when an agent that should run does not, null for any other; `lastError` says why it is down or could
 * not be brought up, or that its last update was undone. `restoredState` is the name of the file with the state that a
 * backup brought for it, which it gets when it is deployed next; the file is gone afterwards.
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
    host: text(),
    image: text(),
    runtime: text({ enum: RUNTIMES }),
    kind: text({ enum: AGENT_KINDS }).notNull().default('stead'),
    runtimeVersion: text(),
    config: text().notNull().default('{}'),
    secretConfig: text(),
    parentId: text(),
    generation: integer().notNull().default(1),
    specialization: text(),
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
    index('agents_by_version').on(table.startedAt).where(tellsVersion),
    index('agents_by_retiring_token').on(table.retiringTokenHash),
    oneOf('agents_status', table.status, AGENT_STATUSES),
  ],
)
export type AgentRow = typeof agents.$inferSelect

/** Words that an owner sorts agents by; one row for each of an agent. */
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
