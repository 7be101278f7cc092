import { and, desc, lte, type SQL } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { Db } from './open.ts'

/** Of the rows for which `condition` holds the `count` newest are kept; `newest` is the column that grows with each row. */
type Kept = { condition: SQL | undefined; newest: SQLiteColumn; count: number }

/** The condition on all rows that are older than those which are kept; null when there are none. */
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
