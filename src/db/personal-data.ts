import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Db } from './open.ts'

/**
 * One list of what somebody takes along of their account: a page of rows at a time, up to `until`. `tables` are those that it
 * shows, so that none with somebody's rows is forgotten.
 */
export type PersonalList = {
  name: string
  tables: readonly SQLiteTable[]
  pages(db: Db, userId: string, until: Date): Generator<unknown[], void>
}

/** A list that is small by nature: one page holds it. */
export function wholeList(
  name: string,
  tables: readonly SQLiteTable[],
  list: (db: Db, userId: string) => unknown[],
): PersonalList {
  return {
    name,
    tables,
    *pages(db, userId) {
      yield list(db, userId)
    },
  }
}
