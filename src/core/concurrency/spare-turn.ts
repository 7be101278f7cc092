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
