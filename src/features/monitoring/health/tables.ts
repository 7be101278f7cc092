import { sql } from 'drizzle-orm'
import { check, integer, sqliteTable } from 'drizzle-orm/sqlite-core'

/** One row that a health check writes to test whether commits succeed. */
export const readiness = sqliteTable(
  'readiness',
  { id: integer().primaryKey(), checkedAt: integer({ mode: 'timestamp_ms' }).notNull() },
  (table) => [check('readiness_one', sql`${table.id} = 1`)],
)
