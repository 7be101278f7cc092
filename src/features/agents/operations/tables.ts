import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { AGENT_STATUSES, agents } from '../registry/tables.ts'

const STEPS = ['queued', 'port', 'starting', 'health', 'running', 'failed'] as const

/** The latest deployment of an agent; `running` and `failed` are final. `detail` is a progress text for people. */
export const deployments = sqliteTable(
  'deployments',
  {
    agentId: text()
      .primaryKey()
      .references(() => agents.id, { onDelete: 'cascade' }),
    step: text({ enum: STEPS }).notNull(),
    error: text(),
    detail: text(),
    requestedAt: integer({ mode: 'timestamp_ms' }).notNull(),
    finishedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [oneOf('deployments_step', table.step, STEPS)],
)
export type DeploymentRow = typeof deployments.$inferSelect

const OPERATIONS = ['deploy', 'start', 'restart', 'update', 'repair', 'reset-memory', 'restore-snapshot'] as const
const OPERATION_STEPS = [
  'queued',
  'pull',
  'stop',
  'snapshot',
  'replace',
  'port',
  'starting',
  'health',
  'reset',
  'restore',
  'done',
] as const
const RESULTS = ['succeeded', 'failed', 'refused', 'rolled-back', 'replaced', 'cancelled'] as const

/** Selects operations that installed the current version; the index serves the latest ones. */
export const isOfNewVersion = sql`result = 'succeeded' AND kind IN ('deploy', 'update')`

/**
 * Operations of agents in the order of `id`, pending and past. `result` is null until the end, `refused` when the
 * request was invalid and nothing was done. `requestedBy` is a user's id, `operator` or `platform`. `statusBefore` is
 * restored when nothing could be done. `image` is null for process agents. `snapshot` names the file taken before the
 * change, `source` the file to restore, both in the agent's snapshot folder; `logTail` is the last output of a failed
 * agent.
 */
export const deploymentHistory = sqliteTable(
  'deployment_history',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    kind: text({ enum: OPERATIONS }).notNull(),
    requestedBy: text().notNull(),
    requestId: text(),
    statusBefore: text({ enum: AGENT_STATUSES }).notNull(),
    image: text(),
    previousImage: text(),
    step: text({ enum: OPERATION_STEPS }).notNull(),
    result: text({ enum: RESULTS }),
    error: text(),
    logTail: text(),
    snapshot: text(),
    source: text(),
    requestedAt: integer({ mode: 'timestamp_ms' }).notNull(),
    startedAt: integer({ mode: 'timestamp_ms' }),
    finishedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    index('deployment_history_by_agent').on(table.agentId, table.id),
    index('deployment_history_of_versions').on(table.finishedAt).where(isOfNewVersion),
    oneOf('deployment_history_kind', table.kind, OPERATIONS),
    oneOf('deployment_history_step', table.step, OPERATION_STEPS),
    oneOf('deployment_history_result', table.result, RESULTS),
  ],
)
export type OperationRow = typeof deploymentHistory.$inferSelect
