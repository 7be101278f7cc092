import type { Db } from '../open.ts'
import { countChanges } from './memo.ts'

/** One interval for all waiting callers; it runs only while someone waits. */
const LOOK_MS = 100

/** Reports database changes to callers that follow rows: `since` is the `count` before their last read. */
export type ChangeFeed = {
  count(): number
  /** Resolves when anything was written after `since`, by any process, or when `signal` aborts. */
  changed(since: number, signal: AbortSignal): Promise<void>
  /** Stops looking; called before the database is closed. Waiting callers wait for their `signal`. */
  close(): void
}

export function createChangeFeed(db: Db): ChangeFeed {
  const waiting = new Set<() => void>()
  let timer: Timer | undefined
  let seen = -1
  let isClosed = false

  const look = () => {
    const count = countChanges(db)
    if (count === seen) return
    seen = count
    for (const check of waiting) check()
  }
  const stopWaiting = (check: () => void) => {
    waiting.delete(check)
    if (waiting.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    count: () => countChanges(db),
    changed: (since, signal) =>
      new Promise((resolve) => {
        const check = () => {
          if (!signal.aborted && (isClosed || countChanges(db) === since)) return
          stopWaiting(check)
          signal.removeEventListener('abort', check)
          resolve()
        }
        waiting.add(check)
        signal.addEventListener('abort', check)
        if (!isClosed) timer ??= setInterval(look, LOOK_MS)
        check()
      }),
    close() {
      isClosed = true
      clearInterval(timer)
    },
  }
}
