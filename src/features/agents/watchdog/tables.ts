import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../registry/tables.ts'
import { RUNGS, type Rung, WATCHDOG_STATES } from './next-state.ts'

const EVENT_KINDS = [
  'starting',
  'running',
  'stopped',
  'sleeping',
  'degraded',
  'recovered',
  'crash',
  'crash_loop',
  'repair_started',
  'repaired',
  'repair_failed',
] as const

/**
 * The watchdog's state of each agent. Times are milliseconds of its monotonic clock. `agentStartedAt` is copied from
 * the agent's row to detect a restart. `rungs` are the rungs of the repair ladder that failed, `rung` is the one in
 * progress. `processStartedAt` and `processRestarts` describe the last process, null before the first; `exitCode` and
 * `outOfMemory` the last end. Uptime is counted until `watchedUntil`.
 */
export const watchdogs = sqliteTable(
  'watchdogs',
  {
    agentId: text()
      .primaryKey()
      .references(() => agents.id, { onDelete: 'cascade' }),
    state: text({ enum: WATCHDOG_STATES }).notNull(),
    since: integer().notNull(),
    healthySince: integer(),
    failures: integer().notNull(),
    countedAt: integer(),
    attempts: integer().notNull(),
    rungs: text({ mode: 'json' }).$type<readonly Rung[]>().notNull().default([]),
    rung: text({ enum: RUNGS }),
    retries: integer().notNull().default(0),
    crashes: text({ mode: 'json' }).$type<readonly number[]>().notNull(),
    agentStartedAt: integer(),
    processStartedAt: integer(),
    processRestarts: integer(),
    exitCode: integer(),
    outOfMemory: integer({ mode: 'boolean' }).notNull().default(false),
    nextCheckAt: integer().notNull(),
    lastProbeAt: integer(),
    lastProbeHealthy: integer({ mode: 'boolean' }),
    watchedUntil: integer().notNull(),
  },
  (table) => [oneOf('watchdogs_state', table.state, WATCHDOG_STATES)],
)
export type WatchdogRow = typeof watchdogs.$inferSelect

/**
 * Events of an agent for its owner; old ones are deleted. `attempt` is the number of repairs so far, `rung` the rung of
 * the repair ladder that a repair takes, `detail` what it changed or which change came before the failure, and
 * `logTail` the last output before the agent was given up.
 */
export const watchdogEvents = sqliteTable(
  'watchdog_events',
  {
    sequence: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull().unique(),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    kind: text({ enum: EVENT_KINDS }).notNull(),
    state: text({ enum: WATCHDOG_STATES }).notNull(),
    attempt: integer().notNull(),
    exitCode: integer(),
    outOfMemory: integer({ mode: 'boolean' }).notNull(),
    rung: text({ enum: RUNGS }),
    detail: text(),
    logTail: text(),
    at: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('watchdog_events_by_agent').on(table.agentId, table.sequence),
    index('watchdog_events_by_time').on(table.at),
    oneOf('watchdog_events_kind', table.kind, EVENT_KINDS),
    oneOf('watchdog_events_state', table.state, WATCHDOG_STATES),
  ],
)
export type WatchdogEventRow = typeof watchdogEvents.$inferSelect

/** Uptime and downtime of an agent per hour (UTC, hours since 1970), in milliseconds; the rest is unknown. */
export const watchdogHours = sqliteTable(
  'watchdog_hours',
  {
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    hour: integer().notNull(),
    upMs: integer().notNull(),
    downMs: integer().notNull(),
    unknownMs: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.agentId, table.hour] }), index('watchdog_hours_by_time').on(table.hour)],
)

/** Periods when most agents failed together. No agent is repaired while one has no end. */
export const hostFaults = sqliteTable('host_faults', {
  id: text().primaryKey(),
  failing: integer().notNull(),
  watched: integer().notNull(),
  startedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  endedAt: integer({ mode: 'timestamp_ms' }),
})
