import { index, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { agents } from '../../agents/registry/tables.ts'

/** One measurement of an agent, kept for a day. Messages and errors are counted since the previous sample. */
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
 * Sums per agent and hour (UTC). `samples` counts the measurements of an agent that should run, `measured` those that
 * found it running. CPU and memory are sums of percentages over `measured`.
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

/** Platform uptime per hour (UTC), derived from the samples. `messageSequence` is the last counted message. */
export const platformHours = sqliteTable('platform_hours', {
  hour: integer({ mode: 'timestamp_ms' }).primaryKey(),
  firstAt: integer({ mode: 'timestamp_ms' }).notNull(),
  lastAt: integer({ mode: 'timestamp_ms' }).notNull(),
  upMs: integer().notNull(),
  messageSequence: integer().notNull(),
})
