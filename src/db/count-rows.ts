import { count, type SQL } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Db } from './open.ts'

/** How many rows of `table` there are for which `condition` holds. An index should lead to them. */
export function countRows(db: Db, table: SQLiteTable, condition: SQL | undefined): number {
  return db.select({ rows: count() }).from(table).where(condition).get()?.rows ?? 0
}
