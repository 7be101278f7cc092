import { sql } from 'drizzle-orm'
import { check, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * The instance that owns the agents of this database, in one row; an instance at another location is a copy. `leftAt`
 * is the time at which a copy took over; the row then contains the copy's location. `ranContainersAt` is the time at
 * which the first agent ran in a container. See `InstanceLocation` for the other columns.
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
