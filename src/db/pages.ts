import { and, asc, between, desc, gt, lte, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { spareTurn } from '../core/concurrency/timing.ts'
import type { Db } from './open.ts'

/** `last` is the row after which the next page starts, null on the last page. */
export type RowPage<Row> = { rows: Row[]; hasMore: boolean; last: Row | null }

type Selection<Row> = { limit(rows: number): { all(): Row[] } }

/** Reads at most `limit` rows, and one more to know whether there is a next page. */
export function readPage<Row>(selection: Selection<Row>, limit: number): RowPage<Row> {
  const found = selection.limit(limit + 1).all()
  const rows = found.slice(0, limit)
  const hasMore = found.length > limit
  return { rows, hasMore, last: hasMore ? (rows.at(-1) ?? null) : null }
}

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

/**
 * A table sorted by latest `time`, then greatest `id`. Requires an index on both columns; on `time` alone if `id` is
 * the rowid.
 */
export type NewestFirst = { table: SQLiteTable; time: SQLiteColumn; id: SQLWrapper }

/** The position of a row in that order. */
export type PagePlace = { time: Date; id: string | number }

const FIRST_ROWS = 500
const MAX_ROWS = 5000
/** Ranges grow when one took less than `SHORT_MS` and shrink when it took more than `LONG_MS`. */
const SHORT_MS = 4
const LONG_MS = 8

/** Returns the terms for `orderBy`. */
export function newestFirst({ time, id }: NewestFirst): SQL[] {
  return [desc(time), desc(id)]
}

/** Matches the rows after `place`. SQLite seeks with row values; with `OR` it would scan. */
export function isBehind({ time, id }: NewestFirst, place: PagePlace): SQL {
  return sql`(${time}, ${id}) < (${sql.param(place.time, time)}, ${place.id})`
}

/**
 * Yields conditions that split a table into small ranges from `from` on, for searches without an index. Each range
 * takes a few milliseconds in its own turn of the event loop; rows may be added or deleted in between.
 * @throws the reason of `signal`, between two ranges.
 */
export async function* inRanges(
  db: Db,
  order: NewestFirst,
  from: PagePlace | undefined,
  signal: AbortSignal,
): AsyncGenerator<SQL | undefined, void> {
  for (let start = from, rows = FIRST_ROWS; ; ) {
    await spareTurn()
    signal.throwIfAborted()
    const startedAt = performance.now()
    const isLater = start && isBehind(order, start)
    const end = findPlace(db, order, isLater, rows)
    yield and(isLater, end && isNotBehind(order, end))
    if (!end) return
    const ms = performance.now() - startedAt
    if (ms < SHORT_MS) rows = Math.min(MAX_ROWS, rows * 2)
    else if (ms > LONG_MS) rows = Math.max(1, Math.floor(rows / 2))
    start = end
  }
}

/** Matches the rows up to `place`, and `place` itself. */
export function isNotBehind({ time, id }: NewestFirst, place: PagePlace): SQL {
  return sql`(${time}, ${id}) >= (${sql.param(place.time, time)}, ${place.id})`
}

/** Returns the position of the `row`-th row matching `condition`, counted from 1. */
function findPlace(db: Db, order: NewestFirst, condition: SQL | undefined, row: number): PagePlace | undefined {
  const { table, time, id } = order
  return db
    .select({ time: sql<Date>`${time}`.mapWith((value: number) => new Date(value)), id: sql<string | number>`${id}` })
    .from(table)
    .where(condition)
    .orderBy(...newestFirst(order))
    .limit(1)
    .offset(row - 1)
    .get()
}
