import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { AGENT_STATUSES, agents } from '../registry/tables.ts'

const STEPS = ['queued', 'port', 'starting', 'health', 'running', 'failed'] as const

/**
 * The latest deployment of an agent and how far it has come; `running` and `failed` are final. `detail` is what is being
 * done right now, for people.
 */
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

/** An agent was brought onto the version of then: anybody may ask when that was last. */
export const isOfNewVersion = sql`result = 'succeeded' AND kind IN ('deploy', 'update')`

/**
 * What was asked of an agent, in the order of `id`: the intents that `run.ts` carries out, and the history that remains of
 * them. `result` is null until it has ended, `refused` when what was asked for
 * cannot be had and nothing was done. `requestedBy` is a user's id, `operator` or `platform`, `requestId` that of the
 * request that asked;
 * `statusBefore` is the agent's when it was asked for, to which it returns when nothing could be done. `image` is null where
 * agents are processes; `snapshot` is the name of a file in the agent's own snapshot folder, taken before anything was changed,
 * and `source` that of the one that is put back; `logTail` are the last lines of an agent that failed.
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
