const SECOND_MS = 1000

/**
 * Returns the time until the whole second that is nearest to `ms` from now. Timers of several tasks then fire together,
 * because each time an idle process wakes up costs more than its task.
 */
export function toWholeSecond(ms: number): number {
  if (ms < SECOND_MS) return ms
  const now = performance.now()
  return Math.ceil(Math.round((now + ms) / SECOND_MS) * SECOND_MS - now)
}
