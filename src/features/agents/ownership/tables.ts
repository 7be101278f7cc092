import { sql } from 'drizzle-orm'
import { check, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * One row: where the installation lives that may act on the agents of this database (decisions, 42). What is at another
 * place is a copy. `leftAt` is when a copy took over: the row then tells where that is. `ranContainersAt` is
 * when the first agent ran in a container. See `Place` for the columns.
 */
export const instanceOwnership = sqliteTable(
  'residence',
  {
    id: integer().primaryKey(),
    machine: text(),
    boot: text(),
    path: text().notNull(),
    volume: text(),
    inode: text().notNull(),
    databaseFile: text().notNull(),
    leftAt: integer({ mode: 'timestamp_ms' }),
    ranContainersAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [check('residence_one', sql`${table.id} = 1`)],
)
export type OwnershipRow = typeof instanceOwnership.$inferSelect
