import type { Connection, Db } from '../open.ts'

/** Guesses at tokens must not fill the memory. */
const MAX_ENTRIES = 10_000
/** Ids and hashes are shorter. */
const MAX_KEY_LENGTH = 200

/** `count` grows with every change that was noticed; `isChecked` holds for the present turn of the event loop. */
type Watch = { count: number; isChecked: boolean; version: unknown; readVersion(): unknown }

const watches = new WeakMap<Db, Watch>()

/**
 * `read`, remembering what it found until anything is written to `db`, here or by another process: SQLite is asked for
 * changes once a turn of the event loop, not once a call. For lookups that come with every request; what they find must
 * not be changed.
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

/** Makes what `memoize` remembers of `db` count for nothing. */
export function noteChange(db: Db): void {
  const watch = watches.get(db)
  if (watch) watch.count++
}

/** A number that grows with whatever is written to `db`, here or by another process. */
export function countChanges(db: Db): number {
  const watch = watches.get(db)
  if (!watch) throw new Error('The changes of this database are not watched')
  checkOnce(watch)
  return watch.count
}

/** From now on changes of `connection` are noticed; before this nothing is remembered. */
export function watchChanges({ db, sqlite }: Connection): void {
  const statement = sqlite.prepare('PRAGMA data_version').pluck()
  watches.set(db, { count: 0, isChecked: false, version: undefined, readVersion: () => statement.get() })
}

/** `data_version` differs when another connection has committed; our own commits call `noteChange`. */
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
