import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'

const RUN_STATES = ['running', 'completed', 'partially_failed', 'failed', 'cancelled'] as const
const ANSWER_STATES = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const

/** A member as it was given: an agent id, or an id with a role and a prompt. */
type Member = string | { id: string; role?: string | undefined; prompt?: string | undefined }

/** Agents of one owner that get tasks together, in the order of `sequence`. `summarizer` is the id of one of them. */
export const swarms = sqliteTable(
  'swarms',
  {
    sequence: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    ownerId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    description: text(),
    agents: text({ mode: 'json' }).$type<Member[]>().notNull(),
    summarizer: text(),
    enabled: integer({ mode: 'boolean' }).notNull().default(true),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [index('swarms_by_owner').on(table.ownerId, table.sequence)],
)
export type SwarmRow = typeof swarms.$inferSelect

/** A task given to a swarm. `summarizer` is the one at the start; `summary` is null until it has answered. */
export const swarmRuns = sqliteTable(
  'swarm_runs',
  {
    sequence: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    swarmId: text()
      .notNull()
      .references(() => swarms.id, { onDelete: 'cascade' }),
    ownerId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    task: text().notNull(),
    summarizer: text(),
    summary: text(),
    summaryError: text(),
    state: text({ enum: RUN_STATES }).notNull(),
    startedAt: integer({ mode: 'timestamp_ms' }).notNull(),
    finishedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    index('swarm_runs_by_swarm').on(table.swarmId, table.sequence),
    index('swarm_runs_by_owner').on(table.ownerId, table.sequence),
    oneOf('swarm_runs_state', table.state, RUN_STATES),
  ],
)
export type SwarmRunRow = typeof swarmRuns.$inferSelect

/**
 * The message to one agent of a run, and its answer. The row outlives the agent and keeps its name. `errorKind` is the
 * kind of the AppError.
 */
export const swarmAnswers = sqliteTable(
  'swarm_answers',
  {
    runId: text()
      .notNull()
      .references(() => swarmRuns.id, { onDelete: 'cascade' }),
    agentId: text().notNull(),
    agentName: text().notNull(),
    position: integer().notNull(),
    message: text().notNull(),
    state: text({ enum: ANSWER_STATES }).notNull(),
    reply: text(),
    error: text(),
    errorKind: text(),
    startedAt: integer({ mode: 'timestamp_ms' }),
    finishedAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    primaryKey({ columns: [table.runId, table.agentId] }),
    oneOf('swarm_answers_state', table.state, ANSWER_STATES),
  ],
)
export type AnswerRow = typeof swarmAnswers.$inferSelect
