import type { Kind } from './test-files.ts'

/** One file, or several that share a process. */
type Work = { kind: Kind; seconds: number }

/** So many of a kind run at once; of those without a number as many as there are lanes. */
const AT_ONCE: Partial<Record<Kind, number>> = { engine: 3, browser: 2, measuring: 1 }

/** Does all work once, the longest first, `lanes` at a time and of no kind more than it bears. `run` must not throw. */
export async function runQueue<T extends Work>(
  work: readonly T[],
  lanes: number,
  run: (one: T) => Promise<void>,
): Promise<void> {
  const waiting = [...work].sort((left, right) => right.seconds - left.seconds)
  const running = new Map<T, Promise<void>>()
  for (;;) {
    for (let next = takeNext(); next; next = takeNext()) start(next)
    if (running.size === 0) return
    await Promise.race(running.values())
  }

  function takeNext(): T | undefined {
    if (running.size >= lanes) return undefined
    const index = waiting.findIndex(({ kind }) => countRunning(kind) < (AT_ONCE[kind] ?? lanes))
    return index === -1 ? undefined : waiting.splice(index, 1)[0]
  }

  function countRunning(kind: Kind): number {
    return [...running.keys()].filter((one) => one.kind === kind).length
  }

  function start(one: T): void {
    running.set(
      one,
      run(one).finally(() => running.delete(one)),
    )
  }
}
