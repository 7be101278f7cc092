import { Cron } from 'croner'

/** From `HH:MM` to `HH:MM` of a time zone, over midnight where the end is earlier. */
export type QuietHours = { from: string; to: string; timeZone: string }

/** When something that comes at `now` may be told: at once, or when the quiet hours end. */
export function afterQuietHours(quiet: QuietHours | null, now: Date): Date {
  if (!quiet) return now
  const end = nextAt(quiet.to, quiet.timeZone, now)
  // Who meets the end before the beginning is between them.
  return end < nextAt(quiet.from, quiet.timeZone, now) ? end : now
}

function nextAt(time: string, timezone: string, now: Date): Date {
  const [hour, minute] = time.split(':')
  return new Cron(`${Number(minute)} ${Number(hour)} * * *`, { timezone }).nextRun(now) ?? now
}
