import { and, desc, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { spareTurn } from '../../core/concurrency/spare-turn.ts'
import type { Db } from '../open.ts'

/**
 * A table sorted by latest `time`, then greatest `id`. Requires an index on both columns; on `time` alone if `id` is
 * the rowid.
 */
export type NewestFirst = { table: SQLiteTable; time: SQLiteColumn; id: SQLWrapper }

/** The position of a row in that order. */
export type Place = { time: Date; id: string | number }

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
export function isBehind({ time, id }: NewestFirst, place: Place): SQL {
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
  from: Place | undefined,
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
export function isNotBehind({ time, id }: NewestFirst, place: Place): SQL {
  return sql`(${time}, ${id}) >= (${sql.param(place.time, time)}, ${place.id})`
}

/** Returns the position of the `row`-th row matching `condition`, counted from 1. */
function findPlace(db: Db, order: NewestFirst, condition: SQL | undefined, row: number): Place | undefined {
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
