import { Cron } from 'croner'

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }
/** The server looks no further ahead either. */
const MAX_YEARS = 5

/**
 * Returns the next `count` times after `from`, computed like the server does.
 * @throws Error for an invalid schedule.
 */
export function listNextRuns(schedule: string, timezone: string, count: number, from: Date): Date[] {
  const text = schedule.trim()
  const [, every, unit = ''] = /^@every ([1-9]\d{0,4})([mhd])$/.exec(text) ?? []
  if (every) {
    const stepMs = Number(every) * (UNIT_MS[unit] ?? 0)
    return Array.from({ length: count }, (_, index) => new Date(from.getTime() + (index + 1) * stepMs))
  }
  if (text.startsWith('@at ')) {
    const at = new Date(text.slice(4))
    if (Number.isNaN(at.getTime())) throw new Error('Expected a time such as 2030-01-31T09:00Z')
    return at > from ? [at] : []
  }
  const fields = text.split(/\s+/)
  if (text.startsWith('@') || fields.length < 5 || fields.length > 6) throw new Error('Expected 5 or 6 fields')
  const stopAt = new Date(from.getTime() + MAX_YEARS * 366 * 86_400_000)
  return new Cron(text, { timezone, paused: true, stopAt }).nextRuns(count, from)
}
