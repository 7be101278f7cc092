import { count, type SQL } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Db } from './open.ts'

/** Counts the rows of `table` matching `condition`, which should be indexed. */
export function countRows(db: Db, table: SQLiteTable, condition: SQL | undefined): number {
  return db.select({ rows: count() }).from(table).where(condition).get()?.rows ?? 0
}
