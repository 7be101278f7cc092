import { and, asc, between, gt, lte, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Db } from '../open.ts'

/** Rows and approximate bytes per page. */
const PAGE = 200
const PAGE_BYTES = 256 * 1024

const rowid = sql<number>`rowid`

/**
 * The rows of `table` matching an indexed `condition`. `sizeBytes` is the size of a row, where rows may be large.
 * `read` returns the rows of a page.
 */
type Wanted<Row> = {
  table: SQLiteTable
  condition: SQL | undefined
  sizeBytes?: SQL<number>
  read(isOnPage: SQL | undefined): Row[]
}

/** Reads the rows that exist at the start in insertion order, a page at a time. */
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

/** Returns the first keys that fit into a page, at least one. */
export function takePage<Key extends { bytes: number }>(keys: Key[]): Key[] {
  let total = 0
  const end = keys.findIndex(({ bytes }, index) => {
    total += bytes
    return index > 0 && total > PAGE_BYTES
  })
  return keys.slice(0, end === -1 ? PAGE : Math.min(end, PAGE))
}

/** Returns the size of the texts, which SQLite knows without reading them. */
export function bytesOf(...texts: SQLWrapper[]): SQL<number> {
  const sizes = texts.map((text) => sql`coalesce(octet_length(${text}), 0)`)
  return sql<number>`${sql.join(sizes, sql` + `)}`
}
