import QuickLRU from 'quick-lru'
import { addDays, toDay } from './clock.ts'

const formats = new QuickLRU<string, Intl.DateTimeFormat>({ maxSize: 100 })
/** Time zones are at most 14 hours ahead of UTC and 12 behind. */
const MAX_OFFSET_MS = 15 * 3_600_000

/** Returns the day such as `2026-11-20` on the calendar of `timeZone`; null is UTC. */
export function toLocalDay(time: Date, timeZone: string | null): string {
  return timeZone === null ? toDay(time) : formatOf(timeZone).format(time)
}

/** Returns the first moment of a day in a time zone. */
export function startOfLocalDay(day: string, timeZone: string | null): Date {
  const midnight = Date.parse(`${day}T00:00:00.000Z`)
  if (timeZone === null) return new Date(midnight)
  let [before, after] = [midnight - MAX_OFFSET_MS, midnight + MAX_OFFSET_MS]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (toLocalDay(new Date(middle), timeZone) < day) before = middle
    else after = middle
  }
  return new Date(after)
}

/** Returns the first moment of the day after `time` in a time zone. */
export function nextLocalMidnight(time: Date, timeZone: string | null): Date {
  const noon = new Date(`${toLocalDay(time, timeZone)}T12:00:00.000Z`)
  return startOfLocalDay(toDay(addDays(noon, 1)), timeZone)
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  // Swedish dates are written as ISO 8601.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
  formats.set(timeZone, format)
  return format
}
