const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium' })
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'medium' })
const short = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

/** A moment in local time, to the day, to the minute or as a distance from now; pointing at it tells it exactly. */
export function Moment({ at, as = 'day' }: { at: string; as?: 'day' | 'minute' | 'distance' }) {
  const date = new Date(at)
  const text = as === 'day' ? day.format(date) : as === 'minute' ? short.format(date) : distance(date)
  return (
    <time dateTime={at} title={exact.format(date)} className="whitespace-nowrap">
      {text}
    </time>
  )
}

/** Within a month in words, beyond it as a date. */
function distance(date: Date): string {
  const ms = date.getTime() - Date.now()
  if (Math.abs(ms) > 30 * 86_400_000) return day.format(date)
  const step = steps.find(([, size]) => Math.abs(ms) >= size)
  return step ? relative.format(Math.round(ms / step[1]), step[0]) : 'just now'
}
