import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { BLOCK_REASONS } from '../../../adapters/egress/proxy/forward-proxy.ts'
import { EGRESS_POLICIES } from '../../../core/agents/egress-policy.ts'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../registry/tables.ts'

/** The egress policy that an owner chose; without a row the default of the agent's template applies. */
export const agentEgress = sqliteTable(
  'agent_egress',
  {
    agentId: text()
      .primaryKey()
      .references(() => agents.id, { onDelete: 'cascade' }),
    policy: text({ enum: EGRESS_POLICIES }).notNull(),
    allow: text({ mode: 'json' }).$type<string[]>().notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [oneOf('agent_egress_policy', table.policy, EGRESS_POLICIES)],
)

/** Destinations that were refused to an agent: one row each, of which the latest are kept. */
export const egressBlocks = sqliteTable(
  'egress_blocks',
  {
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    host: text().notNull(),
    port: integer().notNull(),
    reason: text({ enum: BLOCK_REASONS }).notNull(),
    count: integer().notNull(),
    firstAt: integer({ mode: 'timestamp_ms' }).notNull(),
    lastAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.agentId, table.host, table.port] }),
    index('egress_blocks_by_time').on(table.agentId, table.lastAt),
    oneOf('egress_blocks_reason', table.reason, BLOCK_REASONS),
  ],
)
