/** Month boundaries in UTC. */
function monthOf(now: Date): { firstMs: number; endMs: number } {
  return {
    firstMs: Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1),
    endMs: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1),
  }
}

const DAY_MS = 86_400_000

/** Projects a month's sum at the current rate; today counts by its elapsed part (UTC). */
export function forecastSum(soFar: number, now: Date): number | null {
  const { firstMs, endMs } = monthOf(now)
  const overMs = now.getTime() - firstMs
  // One day is too little for a projection.
  if (overMs < DAY_MS || soFar <= 0) return null
  return soFar / (overMs / (endMs - firstMs))
}

/** Returns when the limit is reached at the current rate; null if not within this month. */
export function forecastEnd(soFar: number, limit: number, now: Date): Date | null {
  const sum = forecastSum(soFar, now)
  if (sum === null || sum <= limit || soFar >= limit) return null
  const { firstMs, endMs } = monthOf(now)
  return new Date(firstMs + (limit / sum) * (endMs - firstMs))
}

export function daysOfMonth(now: Date): number {
  const { firstMs, endMs } = monthOf(now)
  return (endMs - firstMs) / DAY_MS
}
