import type { Db } from '../open.ts'
import { countChanges } from './memo.ts'

/** One look for all who wait, however many they are, and none while nobody waits. */
const LOOK_MS = 100

/** Tells those who follow rows when to read them again: `since` is the `count` from before their last reading. */
export type ChangeFeed = {
  count(): number
  /** Resolves once anything was written after `since`, here or by another process, or when `signal` aborts. */
  changed(since: number, signal: AbortSignal): Promise<void>
  /** Looks no more; to be called before the database is closed. Who still waits, waits for their `signal`. */
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
