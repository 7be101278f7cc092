/** The time, as a dependency, so that a test can be on any day. */
export type Clock = { now(): Date }

export const systemClock: Clock = { now: () => new Date() }

/** `2026-11-20`: the day in UTC (decisions, 25). */
export function toDay(time: Date): string {
  return time.toISOString().slice(0, 10)
}

/** `2026-11`: the month in UTC, in which quotas are counted (decisions, 25). */
export function toMonth(time: Date): string {
  return time.toISOString().slice(0, 7)
}

export function addDays(time: Date, days: number): Date {
  return new Date(time.getTime() + days * 86_400_000)
}
