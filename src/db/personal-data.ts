import { eq, getTableColumns, type SQL } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Db } from './open.ts'
import { inPages } from './pages.ts'

/** One list of an account's data export, read a page at a time up to `until`; `tables` are the tables that it covers. */
export type PersonalList = {
  name: string
  tables: readonly SQLiteTable[]
  pages(db: Db, userId: string, until: Date): Generator<unknown[], void>
}

type ColumnName<Table extends SQLiteTable> = keyof Table['_']['columns'] & string

/**
 * Lists the rows of `table` whose column `of` holds the account's id, in insertion order. Give the columns to `show`, or
 * those to `hide`. `sizeBytes` is the size of a row, for tables with large texts.
 */
export function personalRows<Table extends SQLiteTable>(
  name: string,
  table: Table,
  shown: { of: SQLiteColumn; sizeBytes?: SQL<number> } & (
    | { show: readonly ColumnName<Table>[] }
    | { hide: readonly ColumnName<Table>[] }
  ),
): PersonalList {
  const isShown = (column: string) =>
    'show' in shown ? shown.show.some((one) => one === column) : !shown.hide.some((one) => one === column)
  const columns = Object.fromEntries(Object.entries(getTableColumns(table)).filter(([column]) => isShown(column)))
  return {
    name,
    tables: [table],
    pages: (db, userId) =>
      inPages(db, {
        table,
        condition: eq(shown.of, userId),
        ...(shown.sizeBytes && { sizeBytes: shown.sizeBytes }),
        read: (isOnPage) => db.select(columns).from<SQLiteTable>(table).where(isOnPage).all(),
      }),
  }
}

/** Creates a list that fits into one page. */
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
