const UNITS = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['week', 7 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

const formatter = new Intl.RelativeTimeFormat('en', { numeric: 'always' })

/** `3 days ago`, in the largest unit of which there is a whole one. */
export function toRelativeTime(time: Date, now: Date): string {
  const seconds = Math.round((time.getTime() - now.getTime()) / 1000)
  const [unit, size] = UNITS.find(([, unitSeconds]) => Math.abs(seconds) >= unitSeconds) ?? (['second', 1] as const)
  return formatter.format(Math.trunc(seconds / size), unit)
}
