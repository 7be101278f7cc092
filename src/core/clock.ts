/** The current time as a dependency, so tests can set it. */
export type Clock = { now(): Date }

export const systemClock: Clock = { now: () => new Date() }

const DAY_MS = 86_400_000
let present = { number: Number.NaN, day: '', month: '' }

/** Returns the UTC day such as `2026-11-20`. */
export function toDay(time: Date): string {
  return periodsOf(time).day
}

/** Returns the UTC month such as `2026-11`, the period of quotas. */
export function toMonth(time: Date): string {
  return periodsOf(time).month
}

/** Caches the latest day. */
function periodsOf(time: Date): typeof present {
  const number = Math.floor(time.getTime() / DAY_MS)
  if (number !== present.number) {
    const date = time.toISOString()
    present = { number, day: date.slice(0, 10), month: date.slice(0, 7) }
  }
  return present
}

export function addDays(time: Date, days: number): Date {
  return new Date(time.getTime() + days * DAY_MS)
}
