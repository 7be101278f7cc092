import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../../agents/registry/tables.ts'

const STATUSES = ['waiting', 'approved', 'denied', 'expired', 'used'] as const

/**
 * One row per tool call that needs approval. `arguments` is the JSON text that the owner sees and that alone may be
 * executed; `argumentsHash` finds equal requests. An `approved` request covers one use until `expiresAt`; then it is
 * `used`. `decidedBy` is a user id, null for an expired request; `decidedVia` is the channel of the decision.
 */
export const approvals = sqliteTable(
  'approvals',
  {
    sequence: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    tool: text().notNull(),
    arguments: text().notNull(),
    argumentsHash: text().notNull(),
    session: text(),
    status: text({ enum: STATUSES }).notNull(),
    decidedBy: text(),
    decidedVia: text(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    expiresAt: integer({ mode: 'timestamp_ms' }).notNull(),
    decidedAt: integer({ mode: 'timestamp_ms' }),
    usedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    index('approvals_by_agent').on(table.agentId, table.sequence),
    index('approvals_by_agent_status').on(table.agentId, table.status),
    index('approvals_by_status').on(table.status, table.expiresAt),
    index('approvals_by_arguments').on(table.agentId, table.argumentsHash),
    oneOf('approvals_status', table.status, STATUSES),
  ],
)
export type ApprovalRow = typeof approvals.$inferSelect
