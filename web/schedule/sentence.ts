import { Cron } from 'croner'

/** `days` are 0 (Sunday) to 6, `time` is `HH:MM`. */
export type Sentence =
  | { kind: 'minutes'; every: number }
  | { kind: 'hours'; minute: number }
  | { kind: 'day'; time: string }
  | { kind: 'week'; days: readonly number[]; time: string }
  | { kind: 'month'; day: number; time: string }

export const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

export function toCron(sentence: Sentence): string {
  if (sentence.kind === 'minutes') return `*/${sentence.every} * * * *`
  if (sentence.kind === 'hours') return `${sentence.minute} * * * *`
  const [hour, minute] = sentence.time.split(':').map(Number)
  const clock = `${minute ?? 0} ${hour ?? 0}`
  if (sentence.kind === 'day') return `${clock} * * *`
  if (sentence.kind === 'month') return `${clock} ${sentence.day} * *`
  return `${clock} * * ${toDayList(sentence.days)}`
}

/** Returns null for expressions that no sentence covers. */
export function fromCron(cron: string): Sentence | null {
  const [minute = '', hour = '', day = '', month = '', weekdays = '', ...more] = cron.trim().split(/\s+/)
  if (more.length > 0 || month !== '*') return null
  const every = /^\*\/([1-9]\d?)$/.exec(minute)?.[1]
  if (every && `${hour}${day}${weekdays}` === '***') return { kind: 'minutes', every: Number(every) }
  if (!isBetween(minute, 0, 59)) return null
  if (`${hour}${day}${weekdays}` === '***') return { kind: 'hours', minute: Number(minute) }
  if (!isBetween(hour, 0, 23)) return null
  const time = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`
  if (day === '*' && weekdays === '*') return { kind: 'day', time }
  if (weekdays === '*') return isBetween(day, 1, 31) ? { kind: 'month', day: Number(day), time } : null
  const days = day === '*' ? fromDayList(weekdays) : null
  return days && { kind: 'week', days, time }
}

/** Describes a schedule as the end of a sentence, or returns the expression. */
export function describeSchedule(cron: string): string {
  const every = /^@every (\d+)([mhd])$/.exec(cron)
  if (every) return `every ${every[1]} ${{ m: 'minutes', h: 'hours', d: 'days' }[every[2] ?? ''] ?? ''}`
  if (cron.startsWith('@at ')) return `once, at ${cron.slice(4)}`
  const sentence = fromCron(cron)
  if (!sentence) return cron
  if (sentence.kind === 'minutes') return sentence.every === 1 ? 'every minute' : `every ${sentence.every} minutes`
  if (sentence.kind === 'hours') return `every hour at ${String(sentence.minute).padStart(2, '0')} past`
  if (sentence.kind === 'day') return `every day at ${sentence.time}`
  if (sentence.kind === 'month') return `on day ${sentence.day} of each month at ${sentence.time}`
  return `${describeDays(sentence.days)} at ${sentence.time}`
}

function describeDays(days: readonly number[]): string {
  const list = toDayList(days)
  if (list === '1-5') return 'on weekdays'
  if (list === '0,6') return 'at weekends'
  return `every ${days.map((day) => DAYS[day]).join(', ')}`
}

/** `1-5`, `0,6`, or the days one by one. */
function toDayList(days: readonly number[]): string {
  const list = [...days].sort().join(',')
  return list === '1,2,3,4,5' ? '1-5' : list
}

function fromDayList(list: string): number[] | null {
  const days = new Set<number>()
  for (const part of list.split(',')) {
    const [, first = '', last = first] = /^([0-7])(?:-([0-7]))?$/.exec(part) ?? []
    if (first === '' || Number(last) < Number(first)) return null
    for (let day = Number(first); day <= Number(last); day += 1) days.add(day % 7)
  }
  return [...days].sort()
}

function isBetween(text: string, least: number, most: number): boolean {
  return /^\d{1,2}$/.test(text) && Number(text) >= least && Number(text) <= most
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }
/** The server looks no further ahead either. */
const MAX_YEARS = 5

/**
 * Returns the next `count` times after `from`, computed like the server does.
 * @throws Error for an invalid schedule.
 */
export function listNextRuns(schedule: string, timezone: string, count: number, from: Date): Date[] {
  const text = schedule.trim()
  const [, every, unit = ''] = /^@every ([1-9]\d{0,4})([mhd])$/.exec(text) ?? []
  if (every) {
    const stepMs = Number(every) * (UNIT_MS[unit] ?? 0)
    return Array.from({ length: count }, (_, index) => new Date(from.getTime() + (index + 1) * stepMs))
  }
  if (text.startsWith('@at ')) {
    const at = new Date(text.slice(4))
    if (Number.isNaN(at.getTime())) throw new Error('Expected a time such as 2030-01-31T09:00Z')
    return at > from ? [at] : []
  }
  const fields = text.split(/\s+/)
  if (text.startsWith('@') || fields.length < 5 || fields.length > 6) throw new Error('Expected 5 or 6 fields')
  const stopAt = new Date(from.getTime() + MAX_YEARS * 366 * 86_400_000)
  return new Cron(text, { timezone, paused: true, stopAt }).nextRuns(count, from)
}
