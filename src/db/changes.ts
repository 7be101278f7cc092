import type { Connection, Db } from './open.ts'

/** Bounds the memory that random tokens can use. */
const MAX_ENTRIES = 10_000
/** Longer than any id or hash. */
const MAX_KEY_LENGTH = 200

/** `count` grows with every noticed change; `isChecked` is reset in the next turn of the event loop. */
type Watch = { count: number; isChecked: boolean; version: unknown; readVersion(): unknown }

const watches = new WeakMap<Db, Watch>()

/**
 * Caches `read` until anything is written to `db`, by any process. SQLite is asked for changes once per turn of the
 * event loop. For lookups of every request; cached values must not be mutated.
 */
export function memoize<Value>(db: Db, read: (key: string) => Value): (key: string) => Value {
  const found = new Map<string, Value>()
  let validFor = -1
  return (key) => {
    const watch = watches.get(db)
    if (!watch || key.length > MAX_KEY_LENGTH) return read(key)
    checkOnce(watch)
    if (watch.count !== validFor || found.size >= MAX_ENTRIES) found.clear()
    validFor = watch.count
    const known = found.get(key)
    if (known !== undefined) return known
    const value = read(key)
    found.set(key, value)
    return value
  }
}

/** Invalidates everything that `memoize` has cached of `db`. */
export function noteChange(db: Db): void {
  const watch = watches.get(db)
  if (watch) watch.count++
}

/** Returns a number that grows with every write to `db`, by any process. */
export function countChanges(db: Db): number {
  const watch = watches.get(db)
  if (!watch) throw new Error('The changes of this database are not watched')
  checkOnce(watch)
  return watch.count
}

/** Starts watching the connection for changes; `memoize` caches nothing before. */
export function watchChanges({ db, reader }: Pick<Connection, 'db' | 'reader'>): void {
  const statement = reader.prepare('PRAGMA data_version').pluck()
  watches.set(db, { count: 0, isChecked: false, version: undefined, readVersion: () => statement.get() })
}

/** `data_version` changes when another connection commits; our own commits call `noteChange`. */
function checkOnce(watch: Watch): void {
  if (watch.isChecked) return
  const version = watch.readVersion()
  if (version !== watch.version) watch.count++
  watch.version = version
  watch.isChecked = true
  setImmediate(() => {
    watch.isChecked = false
  })
}

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
