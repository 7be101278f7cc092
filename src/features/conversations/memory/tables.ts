import { integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../../agents/registry/tables.ts'

/** The last author: the owner through the API, or the agent through its tools. */
const SOURCES = ['user', 'agent'] as const
export type MemorySource = (typeof SOURCES)[number]

/**
 * An agent's facts, one row per key; there is no other store. `value` is JSON text. `session` is the agent's session
 * key in which it learned the fact, and `page` the web page, if reported.
 */
export const agentMemory = sqliteTable(
  'agent_memory',
  {
    /** Row id in the full-text index. */
    sequence: integer().primaryKey({ autoIncrement: true }),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    value: text().notNull(),
    source: text({ enum: SOURCES }).notNull(),
    session: text(),
    page: text(),
    /** Null for facts stored before this column existed. */
    createdAt: integer({ mode: 'timestamp_ms' }),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    uniqueIndex('agent_memory_by_key').on(table.agentId, table.key),
    oneOf('agent_memory_source', table.source, SOURCES),
  ],
)
export type MemoryRow = typeof agentMemory.$inferSelect
