import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../registry/tables.ts'

const STREAMS = ['stdout', 'stderr', 'platform', 'exit'] as const

/**
 * What agents write, in the order of `sequence`, which is never used twice. Lines of `platform` are ours (what was
 * dropped); the text of an `exit` is the exit code, empty when nobody saw it. Kept within bounds per agent.
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

/** How far an agent's output was stored (a runtime's cursor) and how much of it is kept. */
export const logSources = sqliteTable('log_sources', {
  agentId: text()
    .primaryKey()
    .references(() => agents.id, { onDelete: 'cascade' }),
  cursor: text(),
  sizeBytes: integer().notNull().default(0),
})
