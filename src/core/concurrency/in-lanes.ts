import { spareTurn } from './spare-turn.ts'

/**
 * Runs `work` for every item, for `lanes` of them at once, and begins each in a turn of the event loop of its own.
 * @throws what `work` throws first; what is under way goes on.
 */
export async function inLanes<Item>(
  items: Iterable<Item>,
  lanes: number,
  work: (item: Item) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const waiting = items[Symbol.iterator]()
  const lane = async () => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) {
      await spareTurn()
      if (signal?.aborted) return
      await work(next.value)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
