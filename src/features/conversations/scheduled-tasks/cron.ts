import { Cron } from 'croner'
import { spareTurn } from '../../../core/concurrency/spare-turn.ts'

/**
 * A cron expression of 5 or 6 fields (the first of 6 are seconds) and the IANA time zone it is meant in; or `@every 15m`
 * (minutes, hours or days, at least one minute), or `@at` with an ISO 8601 time with its offset, once.
 */
export type Schedule = { cronSchedule: string; timezone: string }

/** The longest that a 29 February lets a given weekday wait, across a year 2100 that has none. */
const MAX_YEARS = 40
const DAY_MS = 86_400_000

/**
 * The first time after `after` that the schedule names; null when there is none. What comes round seldom is looked for a year
 * at a time, each with a turn of the event loop of its own. @throws Error for a bad schedule.
 */
export async function findNextRun(schedule: Schedule, after: Date): Promise<Date | null> {
  if (schedule.cronSchedule.startsWith('@')) return findSpecial(schedule.cronSchedule, after)
  const year = after.getUTCFullYear()
  // Where it is a day earlier, the year before goes on.
  for (let searched = year - 1; searched <= year + MAX_YEARS; searched++) {
    const next = findInYear(schedule, after, searched)
    if (next) return next
    await spareTurn()
  }
  return null
}

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/

function findSpecial(text: string, after: Date): Date | null {
  const [, count, unit] = /^@every ([1-9]\d{0,4})([mhd])$/.exec(text) ?? []
  if (count && (unit === 'm' || unit === 'h' || unit === 'd')) {
    return new Date(after.getTime() + Number(count) * UNIT_MS[unit])
  }
  const time = text.startsWith('@at ') ? text.slice('@at '.length) : ''
  if (!ISO_TIME.test(time) || Number.isNaN(Date.parse(time))) {
    throw new Error(
      'Expected @every with minutes, hours or days such as 15m, or @at with a time such as 2030-01-31T09:00Z',
    )
  }
  const at = new Date(time)
  return at > after ? at : null
}

export function isSameSchedule(one: Schedule, other: Schedule): boolean {
  return one.cronSchedule === other.cronSchedule && one.timezone === other.timezone
}

/** Without an end Croner looks for what never comes through 8,000 years, which takes half a second. */
function findInYear({ cronSchedule, timezone }: Schedule, after: Date, year: number): Date | null {
  // Croner also takes names such as @daily, whole dates and years.
  const fields = cronSchedule.split(/\s+/)
  if (fields.length !== 5 && fields.length !== 6) throw new Error('Expected 5 or 6 fields')
  const bounded = [...(fields.length === 5 ? ['0'] : []), ...fields, String(year)].join(' ')
  const start = Math.max(after.getTime(), Date.UTC(year, 0, 1) - DAY_MS)
  return new Cron(bounded, { timezone, paused: true, mode: '7-part' }).nextRun(new Date(start))
}
