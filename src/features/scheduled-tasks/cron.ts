import { Cron } from 'croner'
import { errorMessage } from '../../core/errors.ts'

/** A cron expression of 5 or 6 fields (the first of 6 are seconds) and the IANA time zone it is meant in. */
export type Schedule = { cronSchedule: string; timezone: string }

/** The longest that a 29 February lets a given weekday wait, across a year 2100 that has none. */
const MAX_YEARS = 40

/** The first time after `after` that the schedule names; null when there is none. @throws Error for a bad schedule. */
export function findNextRun({ cronSchedule, timezone }: Schedule, after: Date): Date | null {
  // Croner also takes names such as @daily, whole dates and years.
  const fields = cronSchedule.split(/\s+/)
  if (fields.length !== 5 && fields.length !== 6) throw new Error('Expected 5 or 6 fields')
  const year = after.getUTCFullYear()
  // Without an end Croner looks for what never comes through 8,000 years, which takes half a second.
  const bounded = [...(fields.length === 5 ? ['0'] : []), ...fields, `${year - 1}-${year + MAX_YEARS}`].join(' ')
  return new Cron(bounded, { timezone, paused: true, mode: '7-part' }).nextRun(after)
}

/** Null for a schedule that comes round; otherwise what is wrong with it, such as a minute 99 or a 30 February. */
export function findScheduleProblem(schedule: Schedule, now: Date): string | null {
  try {
    return findNextRun(schedule, now) ? null : 'It never comes round'
  } catch (error) {
    return errorMessage(error)
  }
}
