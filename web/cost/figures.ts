const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const shortDay = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })
const longDay = new Intl.DateTimeFormat('en', {
  weekday: 'short',
  month: 'short',
  day: 'numeric',
  year: 'numeric',
  timeZone: 'UTC',
})

/** US dollars with cents, or three significant digits where that says more: a call often costs a fraction of a cent. */
export function formatCost(costUsd: number): string {
  if (costUsd > 0 && costUsd < 1e-9) return '<$0.000000001'
  const digits = costUsd > 0 && costUsd < 1 ? 2 - Math.floor(Math.log10(costUsd)) : 2
  const style = { style: 'currency', currency: 'USD', minimumFractionDigits: 2, maximumFractionDigits: digits } as const
  return costUsd.toLocaleString('en', style)
}

/** `12,345`. */
export function formatCount(count: number): string {
  return whole.format(count)
}

/** `12.3K`, for axes and tiles. */
export function formatCompact(count: number): string {
  return compact.format(count)
}

/** `Mar 4` from `2026-03-04`; days are UTC, as the server counts them. */
export function formatShortDay(date: string): string {
  return formatDay(shortDay, date)
}

/** `Wed, Mar 4, 2026` from `2026-03-04`. */
export function formatLongDay(date: string): string {
  return formatDay(longDay, date)
}

function formatDay(format: Intl.DateTimeFormat, date: string): string {
  const day = new Date(date)
  return Number.isNaN(day.getTime()) ? date : format.format(day)
}
