import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../db/checks.ts'
import { agents } from '../agents/tables.ts'

const STEPS = ['queued', 'port', 'starting', 'health', 'running', 'failed'] as const

/** The latest deployment of an agent and how far it has come; `running` and `failed` are final. */
export const deployments = sqliteTable(
  'deployments',
  {
    agentId: text()
      .primaryKey()
      .references(() => agents.id, { onDelete: 'cascade' }),
    step: text({ enum: STEPS }).notNull(),
    error: text(),
    requestedAt: integer({ mode: 'timestamp_ms' }).notNull(),
    finishedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [oneOf('deployments_step', table.step, STEPS)],
)
export type DeploymentRow = typeof deployments.$inferSelect
