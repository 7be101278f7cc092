import { index, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { agents } from '../../agents/registry/tables.ts'

/** What an agent used at one moment, kept for a day. Messages and errors are those since the sample before. */
export const agentMetrics = sqliteTable(
  'agent_metrics',
  {
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    sampledAt: integer({ mode: 'timestamp_ms' }).notNull(),
    cpuPercent: real().notNull(),
    memoryBytes: integer().notNull(),
    memoryLimitBytes: integer().notNull(),
    messages: integer().notNull(),
    errors: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.agentId, table.sampledAt] }),
    index('agent_metrics_by_time').on(table.sampledAt),
  ],
)

/**
 * Sums over an hour (UTC), which begins at `hour`. Of `samples` that were asked of an agent that should run, `measured`
 * were answered: the others found it down. CPU and memory are sums of percentages over the measured ones.
 */
export const agentMetricHours = sqliteTable(
  'agent_metric_hours',
  {
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    hour: integer({ mode: 'timestamp_ms' }).notNull(),
    samples: integer().notNull().default(0),
    measured: integer().notNull().default(0),
    cpuPercentSum: real().notNull().default(0),
    memoryPercentSum: real().notNull().default(0),
    messages: integer().notNull().default(0),
    errors: integer().notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.agentId, table.hour] }), index('agent_metric_hours_by_time').on(table.hour)],
)

/**
 * How long of an hour (UTC) the platform was there, as its samples show, and the time of the last one. `messageSequence`
 * is the last message that was counted by then.
 */
export const platformHours = sqliteTable('platform_hours', {
  hour: integer({ mode: 'timestamp_ms' }).primaryKey(),
  firstAt: integer({ mode: 'timestamp_ms' }).notNull(),
  lastAt: integer({ mode: 'timestamp_ms' }).notNull(),
  upMs: integer().notNull(),
  messageSequence: integer().notNull(),
})
