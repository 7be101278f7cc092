import { integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../../agents/registry/tables.ts'

/** Who said it last: the owner by the API, or the agent by its tools. */
const SOURCES = ['user', 'agent'] as const
export type MemorySource = (typeof SOURCES)[number]

/**
 * What an agent remembers, one row a key, whoever stored it: there is no other store. `value` is JSON text. `session` is
 * the agent's name of the conversation in which it was told, and `page` the address where it was read, where it says so.
 */
export const agentMemory = sqliteTable(
  'agent_memory',
  {
    /** The index of words knows a fact by it. */
    sequence: integer().primaryKey({ autoIncrement: true }),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    key: text().notNull(),
    value: text().notNull(),
    source: text({ enum: SOURCES }).notNull(),
    session: text(),
    page: text(),
    /** Null for what was stored before anybody noted it. */
    createdAt: integer({ mode: 'timestamp_ms' }),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    uniqueIndex('agent_memory_by_key').on(table.agentId, table.key),
    oneOf('agent_memory_source', table.source, SOURCES),
  ],
)
export type MemoryRow = typeof agentMemory.$inferSelect
