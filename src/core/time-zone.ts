/** Returns whether `name` is an IANA time zone. Offsets such as `+02:00` are not: they do not follow daylight saving time. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Z]/i.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** Returns the time on the clock of `timeZone`, such as `Tuesday, 24 November 2026, 12:05 (Europe/Berlin, GMT+1)`. */
export function toLocalTime(time: Date, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone,
    timeZoneName: 'shortOffset',
  })
  const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]))
  const { weekday, day, month, year, hour, minute, timeZoneName: offset } = parts
  return `${weekday}, ${day} ${month} ${year}, ${hour}:${minute} (${timeZone}, ${offset})`
}
