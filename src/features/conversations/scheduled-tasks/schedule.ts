import { Cron } from 'croner'
import { spareTurn } from '../../../core/concurrency/timing.ts'
import { AppError } from '../../../core/errors.ts'
import { toLocalTime } from '../../../core/time-zone.ts'

/**
 * A cron expression of 5 or 6 fields (the first of 6 are seconds) with its IANA time zone; or `@every 15m` (minutes,
 * hours or days, at least one minute); or `@at` with an ISO 8601 time and offset, once.
 */
export type Schedule = { cronSchedule: string; timezone: string }

/** Longest gap until 29 February falls on a given weekday, across the year 2100 without one. */
const MAX_YEARS = 40
const DAY_MS = 86_400_000

/**
 * Returns the first run after `after`, or null. Searches a year at a time and yields to the event loop between years.
 * @throws Error for a bad schedule.
 */
export async function findNextRun(schedule: Schedule, after: Date): Promise<Date | null> {
  if (schedule.cronSchedule.startsWith('@')) return findSpecial(schedule.cronSchedule, after)
  const year = after.getUTCFullYear()
  // In zones behind UTC the previous year may not have ended.
  for (let searched = year - 1; searched <= year + MAX_YEARS; searched++) {
    const next = findInYear(schedule, after, searched)
    if (next) return next
    await spareTurn()
  }
  return null
}

const EVERY_UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const AT_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/

function findSpecial(text: string, after: Date): Date | null {
  const [, count, unit] = /^@every ([1-9]\d{0,4})([mhd])$/.exec(text) ?? []
  if (count && (unit === 'm' || unit === 'h' || unit === 'd')) {
    return new Date(after.getTime() + Number(count) * EVERY_UNIT_MS[unit])
  }
  const time = text.startsWith('@at ') ? text.slice('@at '.length) : ''
  if (!AT_TIME.test(time) || Number.isNaN(Date.parse(time))) {
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

/** Without an end Croner searches 8,000 years, which blocks for half a second. */
function findInYear({ cronSchedule, timezone }: Schedule, after: Date, year: number): Date | null {
  // Croner also accepts names such as @daily, dates and years.
  const fields = cronSchedule.split(/\s+/)
  if (fields.length !== 5 && fields.length !== 6) throw new Error('Expected 5 or 6 fields')
  const bounded = [...(fields.length === 5 ? ['0'] : []), ...fields, String(year)].join(' ')
  const start = Math.max(after.getTime(), Date.UTC(year, 0, 1) - DAY_MS)
  return new Cron(bounded, { timezone, paused: true, mode: '7-part' }).nextRun(new Date(start))
}

const UNIT_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const
const UNIT_LETTERS = { minute: 'm', hour: 'h', day: 'd' } as const
/** A time given by a model may have just passed when its request arrives. */
const PAST_TOLERANCE_MS = 60_000

const DISTANCE = /^(in|every) (\d{1,5}) ?(minute|min|m|hour|h|day|d)s?$/i
const ISO_TIME = /^(?:@at )?(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?$/i

/**
 * Converts time formats of people and models to the stored form: `in 10 minutes` and an ISO 8601 time become `@at` with
 * that time in UTC, `every 15 minutes` becomes `@every 15m`. A time without a zone is in the schedule's `timezone`.
 * Cron expressions, `@every` and unknown formats are returned unchanged.
 * @throws AppError `invalid` for a time that has passed or does not exist.
 */
export function toStoredSchedule(schedule: Schedule, now: Date): Schedule {
  const text = schedule.cronSchedule.trim()
  const [, word, count = '', unitName = ''] = DISTANCE.exec(text) ?? []
  if (word) {
    const unit = toUnit(unitName)
    if (Number(count) === 0)
      throw new AppError('invalid', `"${text}" is not a time in the future: use at least 1 ${unit}`)
    if (word.toLowerCase() === 'every')
      return { ...schedule, cronSchedule: `@every ${Number(count)}${UNIT_LETTERS[unit]}` }
    return { ...schedule, cronSchedule: toAt(new Date(now.getTime() + Number(count) * UNIT_MS[unit])) }
  }
  const [, day, clock, seconds = '00', offset] = ISO_TIME.exec(text) ?? []
  if (!day) return schedule
  const local = `${day}T${clock}:${seconds}`
  const time = isOnCalendar(local) && (offset ? new Date(`${local}${offset}`) : toZonedTime(local, schedule.timezone))
  if (!time || Number.isNaN(time.getTime())) throw new AppError('invalid', `There is no such time: ${text}`)
  if (time.getTime() > now.getTime()) return { ...schedule, cronSchedule: toAt(time) }
  if (now.getTime() - time.getTime() > PAST_TOLERANCE_MS) throw toPastError(text, schedule.timezone, now)
  return { ...schedule, cronSchedule: toAt(new Date(now.getTime() + 1000)) }
}

function toUnit(name: string): keyof typeof UNIT_MS {
  const letter = name.toLowerCase().slice(0, 1)
  return letter === 'm' ? 'minute' : letter === 'h' ? 'hour' : 'day'
}

function toAt(time: Date): string {
  return `@at ${time.toISOString()}`
}

/** `Date` reads 31 November as 1 December. */
function isOnCalendar(local: string): boolean {
  const time = new Date(`${local}Z`)
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(local)
}

function toZonedTime(local: string, timezone: string): Date | null {
  return new Cron(local, { timezone, paused: true }).nextRun(new Date(0))
}

function toPastError(text: string, timezone: string, now: Date): AppError {
  const present = toLocalTime(now, timezone)
  return new AppError(
    'invalid',
    `${text} has passed: it is ${present}. Give a later time, or one such as "in 10 minutes".`,
  )
}
