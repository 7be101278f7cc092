import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../registry/tables.ts'

const STREAMS = ['stdout', 'stderr', 'platform', 'exit'] as const

/**
 * Output of agents, in the order of `sequence`, which is never reused. `platform` lines report dropped output; the text
 * of an `exit` is the exit code, empty when unknown. The size per agent is limited.
 */
export const logLines = sqliteTable(
  'log_lines',
  {
    sequence: integer().primaryKey({ autoIncrement: true }),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    at: integer({ mode: 'timestamp_ms' }).notNull(),
    stream: text({ enum: STREAMS }).notNull(),
    text: text().notNull(),
    sizeBytes: integer().notNull(),
  },
  (table) => [
    index('log_lines_by_agent').on(table.agentId, table.sequence),
    oneOf('log_lines_stream', table.stream, STREAMS),
  ],
)
export type LogLineRow = typeof logLines.$inferSelect

/** The runtime's cursor after an agent's last stored line, and the size of its stored lines. */
export const logSources = sqliteTable('log_sources', {
  agentId: text()
    .primaryKey()
    .references(() => agents.id, { onDelete: 'cascade' }),
  cursor: text(),
  sizeBytes: integer().notNull().default(0),
})
