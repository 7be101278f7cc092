import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'

const TRIGGERS = ['schedule', 'manual', 'heartbeat'] as const
const STATUSES = ['queued', 'running', 'succeeded', 'failed', 'skipped'] as const

/** A prompt that an agent gets on a schedule in `timezone`. `nextRunAt` is null while it is off. */
export const scheduledTasks = sqliteTable(
  'scheduled_tasks',
  {
    id: text().primaryKey(),
    ownerId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    description: text(),
    cronSchedule: text().notNull(),
    timezone: text().notNull(),
    prompt: text().notNull(),
    enabled: integer({ mode: 'boolean' }).notNull(),
    lastRunAt: integer({ mode: 'timestamp_ms' }),
    nextRunAt: integer({ mode: 'timestamp_ms' }),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('scheduled_tasks_by_owner').on(table.ownerId),
    index('scheduled_tasks_by_agent').on(table.agentId),
    index('scheduled_tasks_due').on(table.nextRunAt),
  ],
)
export type TaskRow = typeof scheduledTasks.$inferSelect

/**
 * One row per due prompt; only the newest of each task and agent are kept. A heartbeat has no task but its own
 * `prompt`. A `queued` run waits for capacity, a `running` one has a job; `messageId` is set before the prompt is sent,
 * and a run that has one is never sent again. A task has at most one unfinished run, and an agent one unfinished
 * heartbeat.
 */
export const scheduledRuns = sqliteTable(
  'scheduled_runs',
  {
    sequence: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    taskId: text().references(() => scheduledTasks.id, { onDelete: 'cascade' }),
    ownerId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    trigger: text({ enum: TRIGGERS }).notNull(),
    prompt: text(),
    status: text({ enum: STATUSES }).notNull(),
    dueAt: integer({ mode: 'timestamp_ms' }).notNull(),
    startedAt: integer({ mode: 'timestamp_ms' }),
    finishedAt: integer({ mode: 'timestamp_ms' }),
    messageId: text(),
    error: text(),
  },
  (table) => [
    index('scheduled_runs_by_task').on(table.taskId, table.sequence),
    index('scheduled_runs_by_agent').on(table.agentId, table.sequence),
    index('scheduled_runs_by_status').on(table.status, table.sequence),
    index('scheduled_runs_by_owner').on(table.ownerId),
    uniqueIndex('scheduled_runs_unfinished_task').on(table.taskId).where(sql`${table.status} IN ('queued', 'running')`),
    uniqueIndex('scheduled_runs_unfinished_heartbeat')
      .on(table.agentId)
      .where(sql`${table.taskId} IS NULL AND ${table.status} IN ('queued', 'running')`),
    oneOf('scheduled_runs_trigger', table.trigger, TRIGGERS),
    oneOf('scheduled_runs_status', table.status, STATUSES),
  ],
)
export type TaskRunRow = typeof scheduledRuns.$inferSelect
