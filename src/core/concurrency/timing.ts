const waiting: (() => void)[] = []

/**
 * Resolves in a turn of the event loop that no other long task uses, so requests run between the pieces of exports and
 * deletions.
 */
export function spareTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(giveTurn)
  })
}

/** The first entry stays until its turn has started, so no second turn is scheduled. */
function giveTurn(): void {
  waiting[0]?.()
  waiting.shift()
  if (waiting.length > 0) setImmediate(giveTurn)
}

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
