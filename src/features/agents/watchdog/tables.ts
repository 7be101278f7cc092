import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../registry/tables.ts'
import { WATCHDOG_STATES } from './next-state.ts'

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
 * What the watchdog knows of an agent, from its first look on. Times are milliseconds of its steady clock, so that they
 * can be compared with each other. `agentStartedAt` is that of the agent's row: another one means that it was started
 * anew. `processStartedAt` and `processRestarts` are of the process seen last, both null before there was one;
 * `exitCode` and `outOfMemory` tell of the last end that was seen. Until `watchedUntil` its hours are counted.
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

/** What happened to an agent, for its owner; old ones are deleted. `attempt` is the number of repairs so far. */
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

/** How long an agent was up and down in an hour (UTC, counted from 1970), in milliseconds; the rest is not known. */
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

/** Times when most agents failed together; the one without an end goes on, and no agent is repaired meanwhile. */
export const hostFaults = sqliteTable('host_faults', {
  id: text().primaryKey(),
  failing: integer().notNull(),
  watched: integer().notNull(),
  startedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  endedAt: integer({ mode: 'timestamp_ms' }),
})
