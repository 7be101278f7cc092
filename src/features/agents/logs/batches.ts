import { pause } from '../../../jobs/runner.ts'

/** `session` is what `items` listen to: it is aborted at the end, so that they do not wait for the next one for ever. */
export type BatchOptions = { gatherMs: number; maxItems: number; session: AbortController }

/**
 * What comes within `gatherMs` of an item comes together with it. A window with `maxItems` is full: nothing more is taken
 * from `items` until it is over, so a flood waits at its source.
 */
export async function* inBatches<T>(items: AsyncIterable<T>, options: BatchOptions): AsyncGenerator<T[], void> {
  const { gatherMs, maxItems, session } = options
  const iterator = items[Symbol.asyncIterator]()
  let next = iterator.next()
  try {
    while (!session.signal.aborted) {
      const first = await next
      if (first.done) return
      const batch = [first.value]
      const isOver = pause(gatherMs, session.signal)
      next = iterator.next()
      while (batch.length < maxItems) {
        const result = await Promise.race([next, isOver])
        if (!result || result.done) break
        batch.push(result.value)
        next = iterator.next()
      }
      if (batch.length === maxItems) await isOver
      yield batch
    }
  } finally {
    session.abort()
    next.catch(() => undefined)
    await iterator.return?.()
  }
}
