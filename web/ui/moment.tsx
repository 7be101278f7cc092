const hourCycle = 'h23'
const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium' })
const clock = new Intl.DateTimeFormat('en', { timeStyle: 'short', hourCycle })
const short = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', hourCycle })
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'medium', hourCycle })
const exactUtc = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium', hourCycle, timeZone: 'UTC' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

type MomentProps = { at: string; as?: 'day' | 'minute' | 'clock' | 'distance' }

/** Local time; the tooltip has UTC. */
export function Moment({ at, as = 'day' }: MomentProps) {
  const date = new Date(at)
  return (
    <time dateTime={at} title={`${exact.format(date)} (${exactUtc.format(date)} UTC)`} className="whitespace-nowrap">
      {format(date, as)}
    </time>
  )
}

export function formatMinute(at: string): string {
  return short.format(new Date(at))
}

function format(date: Date, as: MomentProps['as']): string {
  if (as === 'minute') return short.format(date)
  if (as === 'clock') return clock.format(date)
  return as === 'distance' ? distance(date) : day.format(date)
}

/** Relative within a month, beyond it a date. */
function distance(date: Date): string {
  const ms = date.getTime() - Date.now()
  if (Math.abs(ms) > 30 * 86_400_000) return day.format(date)
  const step = steps.find(([, size]) => Math.abs(ms) >= size)
  return step ? relative.format(Math.round(ms / step[1]), step[0]) : 'just now'
}
