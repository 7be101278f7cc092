/** The month (UTC) that `now` is in. */
function monthOf(now: Date): { firstMs: number; endMs: number } {
  return {
    firstMs: Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1),
    endMs: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1),
  }
}

const DAY_MS = 86_400_000

/** What a month's sum will be when it goes on as it did so far, today counted as the part of it that is over (UTC). */
export function forecastSum(soFar: number, now: Date): number | null {
  const { firstMs, endMs } = monthOf(now)
  const overMs = now.getTime() - firstMs
  // Of the first day alone nothing can be said.
  if (overMs < DAY_MS || soFar <= 0) return null
  return soFar / (overMs / (endMs - firstMs))
}

/** When a month's limit will be used up if it goes on like this; null when that is not within the month, or is past. */
export function forecastEnd(soFar: number, limit: number, now: Date): Date | null {
  const sum = forecastSum(soFar, now)
  if (sum === null || sum <= limit || soFar >= limit) return null
  const { firstMs, endMs } = monthOf(now)
  return new Date(firstMs + (limit / sum) * (endMs - firstMs))
}

/** How many days (UTC) the month has. */
export function daysOfMonth(now: Date): number {
  const { firstMs, endMs } = monthOf(now)
  return (endMs - firstMs) / DAY_MS
}
