import type { Kind, TestFile } from './test-files.ts'

/** So many files of a kind run at once; of those without a number as many as there are lanes. */
const AT_ONCE: Partial<Record<Kind, number>> = { engine: 2, browser: 1, measuring: 1 }

/**
 * Runs every file once, the longest first, `lanes` at a time and of no kind more than it bears. `run` must not throw.
 */
export async function runQueue(
  files: readonly TestFile[],
  lanes: number,
  run: (file: TestFile) => Promise<void>,
): Promise<void> {
  const waiting = [...files].sort((left, right) => right.seconds - left.seconds)
  const running = new Map<TestFile, Promise<void>>()
  for (;;) {
    for (let next = takeNext(); next; next = takeNext()) start(next)
    if (running.size === 0) return
    await Promise.race(running.values())
  }

  function takeNext(): TestFile | undefined {
    if (running.size >= lanes) return undefined
    const index = waiting.findIndex(({ kind }) => countRunning(kind) < (AT_ONCE[kind] ?? lanes))
    return index === -1 ? undefined : waiting.splice(index, 1)[0]
  }

  function countRunning(kind: Kind): number {
    return [...running.keys()].filter((file) => file.kind === kind).length
  }

  function start(file: TestFile): void {
    running.set(
      file,
      run(file).finally(() => running.delete(file)),
    )
  }
}
