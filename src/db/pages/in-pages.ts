import { and, asc, between, gt, lte, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Db } from '../open.ts'

/** Rows, and about so many bytes of them, that are read in one go. */
const PAGE = 200
const PAGE_BYTES = 256 * 1024

const rowid = sql<number>`rowid`

/**
 * Rows of `table` as they are shown. An index leads from `condition` to them; `sizeBytes` is what a row takes, where that
 * can be much. `read` gives the rows of a page, which is a condition too.
 */
type Wanted<Row> = {
  table: SQLiteTable
  condition: SQL | undefined
  sizeBytes?: SQL<number>
  read(isOnPage: SQL | undefined): Row[]
}

/** The rows that are there when it begins, in the order in which they were written. */
export function* inPages<Row>(db: Db, { table, condition, sizeBytes, read }: Wanted<Row>): Generator<Row[], void> {
  const newest = db.select({ rowid: sql<number>`coalesce(max(rowid), 0)` }).from(table).get()?.rowid ?? 0
  for (let after = 0; ; ) {
    const keys = db
      .select({ rowid, bytes: sizeBytes ?? sql<number>`0` })
      .from(table)
      .where(and(condition, gt(rowid, after), lte(rowid, newest)))
      .orderBy(asc(rowid))
      .limit(PAGE)
      .all()
    const last = takePage(keys).at(-1)?.rowid
    if (last === undefined) return
    yield read(and(condition, between(rowid, after + 1, last)))
    after = last
  }
}

/** The first of `keys` that fit into a page; one always does. */
export function takePage<Key extends { bytes: number }>(keys: Key[]): Key[] {
  let total = 0
  const end = keys.findIndex(({ bytes }, index) => {
    total += bytes
    return index > 0 && total > PAGE_BYTES
  })
  return keys.slice(0, end === -1 ? PAGE : Math.min(end, PAGE))
}

/** What texts take: SQLite knows it without reading them. */
export function bytesOf(...texts: SQLWrapper[]): SQL<number> {
  const sizes = texts.map((text) => sql`coalesce(octet_length(${text}), 0)`)
  return sql<number>`${sql.join(sizes, sql` + `)}`
}
