import { Cron } from 'croner'
import { AppError } from '../../../core/errors.ts'
import { toLocalTime } from '../../../core/time-zone.ts'
import type { Schedule } from './cron.ts'

const UNIT_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const
const UNIT_LETTERS = { minute: 'm', hour: 'h', day: 'd' } as const
/** A time a model names is a little late by the time its request arrives. */
const PAST_TOLERANCE_MS = 60_000

const DISTANCE = /^(in|every) (\d{1,5}) ?(minute|min|m|hour|h|day|d)s?$/i
const ISO_TIME = /^(?:@at )?(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?$/i

/**
 * Turns the forms people and models use for a time into the stored form: `in 10 minutes` and an ISO 8601 time become `@at`
 * with that time in UTC, `every 15 minutes` becomes `@every 15m`. A time without a zone is in the schedule's `timezone`.
 * Cron expressions, `@every` and what cannot be read are returned unchanged.
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
