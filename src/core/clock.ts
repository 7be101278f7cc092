/** The time, as a dependency, so that a test can be on any day. */
export type Clock = { now(): Date }

export const systemClock: Clock = { now: () => new Date() }

const DAY_MS = 86_400_000
let present = { number: Number.NaN, day: '' }

/** `2026-11-20`: the day in UTC (decisions, 25). Nearly everybody asks for today. */
export function toDay(time: Date): string {
  const number = Math.floor(time.getTime() / DAY_MS)
  if (number !== present.number) present = { number, day: time.toISOString().slice(0, 10) }
  return present.day
}

/** `2026-11`: the month in UTC, in which quotas are counted (decisions, 25). */
export function toMonth(time: Date): string {
  return toDay(time).slice(0, 7)
}

export function addDays(time: Date, days: number): Date {
  return new Date(time.getTime() + days * DAY_MS)
}
