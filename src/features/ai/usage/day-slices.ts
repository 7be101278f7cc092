import { between, min, type SQL } from 'drizzle-orm'
import type { AnySQLiteColumn } from 'drizzle-orm/sqlite-core'
import { addDays, toDay } from '../../../core/clock.ts'
import { spareTurn } from '../../../core/concurrency/timing.ts'
import type { Db } from '../../../db/open.ts'
import { usageDays } from './tables.ts'

/** Days of the first slice: an account has a few rows a day, a busy platform thousands. */
const FIRST_DAYS = 2
const MAX_DAYS = 64
const SHORT_MS = 1
const LONG_MS = 4
const DAY_MS = 86_400_000

/** `days` days up to `last` (UTC), which is one of them. */
export type Span = { last: Date; days: number }

/** Reads a span in slices of days, newest first, one turn of the event loop each, so that long histories block nothing. */
export async function inDaySlices(
  column: AnySQLiteColumn,
  { last, days }: Span,
  read: (isInSlice: SQL) => void,
): Promise<void> {
  let length = FIRST_DAYS
  for (let ago = 0; ago < days; ) {
    await spareTurn()
    const startedAt = performance.now()
    const taken = Math.min(length, days - ago)
    read(between(column, toDay(addDays(last, 1 - ago - taken)), toDay(addDays(last, -ago))))
    ago += taken
    const ms = performance.now() - startedAt
    if (ms < SHORT_MS) length = Math.min(MAX_DAYS, length * 2)
    else if (ms > LONG_MS) length = Math.max(1, Math.floor(length / 2))
  }
}

/** The days of a span (UTC), oldest first. */
export function listDays({ last, days }: Span): string[] {
  return Array.from({ length: days }, (_, index) => toDay(addDays(last, index + 1 - days)))
}

/** Returns the span from the first day with matching sums to `last`. */
export function wholeSpan(db: Db, condition: SQL | undefined, last: Date): Span {
  const first = db
    .select({ day: min(usageDays.day) })
    .from(usageDays)
    .where(condition)
    .get()?.day
  if (!first) return { last, days: 0 }
  const today = Date.parse(toDay(last))
  return { last, days: Math.max(1, 1 + Math.round((today - Date.parse(first)) / DAY_MS)) }
}
