/** The current time as a dependency, so tests can set it. */
export type Clock = { now(): Date }

export const systemClock: Clock = { now: () => new Date() }

const DAY_MS = 86_400_000
let present = { number: Number.NaN, day: '' }

/** Returns the UTC day such as `2026-11-20`; caches the current one. */
export function toDay(time: Date): string {
  const number = Math.floor(time.getTime() / DAY_MS)
  if (number !== present.number) present = { number, day: time.toISOString().slice(0, 10) }
  return present.day
}

/** Returns the UTC month such as `2026-11`, the period of quotas. */
export function toMonth(time: Date): string {
  return toDay(time).slice(0, 7)
}

export function addDays(time: Date, days: number): Date {
  return new Date(time.getTime() + days * DAY_MS)
}
