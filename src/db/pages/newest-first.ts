import { and, desc, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { spareTurn } from '../../core/concurrency/spare-turn.ts'
import type { Db } from '../open.ts'

/**
 * How a table is shown: the latest `time` first, of equal ones the greatest `id`. An index on both has to be there; of a rowid,
 * which every index has, one on `time`.
 */
export type NewestFirst = { table: SQLiteTable; time: SQLiteColumn; id: SQLWrapper }

/** Where a row stands in that order. */
export type Place = { time: Date; id: string | number }

const FIRST_ROWS = 500
const MAX_ROWS = 5000
/** A range that took less is followed by a larger one, one that took more by a smaller one. */
const SHORT_MS = 4
const LONG_MS = 8

/** The order itself, for `orderBy`. */
export function newestFirst({ time, id }: NewestFirst): SQL[] {
  return [desc(time), desc(id)]
}

/** Holds for the rows behind a place. With row values SQLite leaps there; with `OR` it would read all that stand before it. */
export function isBehind({ time, id }: NewestFirst, place: Place): SQL {
  return sql`(${time}, ${id}) < (${sql.param(place.time, time)}, ${place.id})`
}

/**
 * Conditions that take a table apart, in its order from `from` on, for what no index finds. Each names so few rows that
 * reading them holds nobody up, and each has a turn of the event loop of its own; rows may come and go in between.
 * @throws what `signal` aborts with, between two ranges.
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

function isNotBehind({ time, id }: NewestFirst, place: Place): SQL {
  return sql`(${time}, ${id}) >= (${sql.param(place.time, time)}, ${place.id})`
}

/** Of the rows for which `condition` holds the one with this number, counted from 1. */
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
