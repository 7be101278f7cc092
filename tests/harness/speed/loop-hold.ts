const TRIES = 4

/** How long the event loop did not turn, at the longest: `wallMs` by the clock, `workMs` by what this thread computed meanwhile. */
export type Hold = { wallMs: number; workMs: number }

/**
 * Measures the holds of the loop until it is stopped. On a machine that others use as well, `wallMs` counts their work
 * too; `workMs` is ours alone.
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
 * Does `work` until it holds the loop for less than `limitMs`, a few times at most: what the collector of garbage of a
 * whole process of tests, or others on the machine, delay once is quick the next time. @returns the shortest of its
 * holds, as `workMs`.
 */
export function findHold(limitMs: number, work: () => unknown): Promise<number> {
  return findPreparedHold(limitMs, () => undefined, work)
}

/** As `findHold`, for work that needs something made for it each time, which may hold the loop as long as it likes. */
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

/** CPU time of this thread. Bun's types lack the Node.js function. */
export function threadMs(): number {
  const read: unknown = Reflect.get(process, 'threadCpuUsage')
  if (typeof read !== 'function') throw new Error('This Bun cannot tell what a thread has computed')
  const { user, system } = read.call(process)
  return (user + system) / 1000
}
