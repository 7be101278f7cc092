import { and, desc, lte, type SQL } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { Db } from './open.ts'

/** Keeps the `count` newest rows matching `condition`; `newest` is a column that grows with each row. */
type Kept = { condition: SQL | undefined; newest: SQLiteColumn; count: number }

/** Returns the condition that matches all older rows; null when there are none. */
export function beyondNewest(db: Db, { condition, newest, count }: Kept): SQL | null {
  const last = db
    .select({ key: newest })
    .from(newest.table)
    .where(condition)
    .orderBy(desc(newest))
    .limit(1)
    .offset(count)
    .get()
  return last ? (and(condition, lte(newest, last.key)) ?? null) : null
}
