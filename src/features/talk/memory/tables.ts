import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../../agents/registry/tables.ts'

/** Who said it last: the owner by the API, or the agent by its tools. */
const SOURCES = ['user', 'agent'] as const
export type MemorySource = (typeof SOURCES)[number]

/** What an agent remembers, one row a key, whoever stored it: there is no other store. `value` is JSON text. */
export const agentMemory = sqliteTable(
  'agent_memory',
  {
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    value: text().notNull(),
    source: text({ enum: SOURCES }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.agentId, table.key] }), oneOf('agent_memory_source', table.source, SOURCES)],
)
export type MemoryRow = typeof agentMemory.$inferSelect
