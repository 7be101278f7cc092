const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
/** Two decimals, or three significant digits for small amounts. */
export function formatCost(costUsd: number | null): string {
  if (costUsd === null) return 'Unknown'
  if (costUsd > 0 && costUsd < 1e-9) return '<$0.000000001'
  const digits = costUsd > 0 && costUsd < 1 ? 2 - Math.floor(Math.log10(costUsd)) : 2
  const style = { style: 'currency', currency: 'USD', minimumFractionDigits: 2, maximumFractionDigits: digits } as const
  return costUsd.toLocaleString('en', style)
}

/** Such as `and 3 calls with unknown cost`. */
export function formatMissing(unpricedCalls: number): string {
  return `and ${formatCount(unpricedCalls)} ${unpricedCalls === 1 ? 'call' : 'calls'} with unknown cost`
}

/** `12,345`. */
export function formatCount(count: number): string {
  return whole.format(count)
}

/** `12.3K`, for axes and tiles. */
export function formatCompact(count: number): string {
  return compact.format(count)
}

/** `12%`, or `<1%` for a small non-zero part. */
export function formatShare(part: number, whole: number): string {
  const percent = whole > 0 ? (part / whole) * 100 : 0
  return percent > 0 && percent < 1 ? '<1%' : `${Math.round(percent)}%`
}

/** Milliseconds below a tenth of a second, otherwise seconds. */
export function formatDuration(ms: number): string {
  if (ms >= 100) return `${(ms / 1000).toFixed(1)} s`
  return ms < 1 ? 'under 1 ms' : `${Math.round(ms)} ms`
}

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
