const TRIES = 4

/** The longest block of the event loop: `wallMs` is elapsed time, `workMs` the CPU time of this thread in it. */
export type Hold = { wallMs: number; workMs: number }

/**
 * Measures how long the event loop is blocked until `stop`. On a shared machine, `wallMs` includes the work of other
 * processes; `workMs` does not.
 */
export function watchLoop(): { stop(): Hold } {
  const longest: Hold = { wallMs: 0, workMs: 0 }
  let isWatching = true
  let before = read()
  const turn = () => {
    const now = read()
    longest.wallMs = Math.max(longest.wallMs, now.wallMs - before.wallMs)
    longest.workMs = Math.max(longest.workMs, Math.min(now.workMs - before.workMs, now.wallMs - before.wallMs))
    before = now
    if (isWatching) setTimeout(turn, 0)
  }
  setTimeout(turn, 0)
  return {
    stop() {
      turn()
      isWatching = false
      return longest
    },
  }
}

/**
 * Repeats `work` a few times until it blocks the event loop for less than `limitMs`, because garbage collection or
 * other load may delay a single run.
 * @returns the shortest `workMs`.
 */
export function findHold(limitMs: number, work: () => unknown): Promise<number> {
  return findPreparedHold(limitMs, () => undefined, work)
}

/** Like `findHold`, with a preparation before each run that is not measured. */
export async function findPreparedHold<T>(
  limitMs: number,
  prepare: () => T | Promise<T>,
  work: (prepared: T) => unknown,
): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < TRIES && shortest >= limitMs; attempt += 1) {
    const prepared = await prepare()
    const watch = watchLoop()
    await work(prepared)
    shortest = Math.min(shortest, watch.stop().workMs)
  }
  return shortest
}

function read(): Hold {
  return { wallMs: performance.now(), workMs: threadMs() }
}

/** Returns the CPU time of this thread. Bun's types lack the Node.js function. */
export function threadMs(): number {
  const read: unknown = Reflect.get(process, 'threadCpuUsage')
  if (typeof read !== 'function') throw new Error('This Bun has no process.threadCpuUsage')
  const { user, system } = read.call(process)
  return (user + system) / 1000
}
