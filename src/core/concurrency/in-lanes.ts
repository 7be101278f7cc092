import { spareTurn } from './spare-turn.ts'

/**
 * Runs `work` for every item with `lanes` workers, starting each item in its own turn of the event loop.
 * @throws the first error of `work`; items under way continue.
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
