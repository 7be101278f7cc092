const waiting: (() => void)[] = []

/**
 * A turn of the event loop for one piece of long work, a few milliseconds of it. Pieces of all such works go one a turn,
 * in the order of their calls: whatever else waits for the loop goes in between, however many exports and deletions are
 * under way.
 */
export function spareTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(giveTurn)
  })
}

/** The first in the row stays there until its turn has begun, so that nobody gives a second one. */
function giveTurn(): void {
  waiting[0]?.()
  waiting.shift()
  if (waiting.length > 0) setImmediate(giveTurn)
}
