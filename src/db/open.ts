import { chmodSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { sql } from 'drizzle-orm'
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3'
import { errorMessage, StartupError } from '../core/errors.ts'

type Drizzle = BetterSQLite3Database & { $client: Database.Database }

/** The database for reading. That it cannot write is the point: `write` alone hands out a `Tx`. */
export type Db = Pick<Drizzle, 'select' | 'selectDistinct' | '$count' | '$with' | 'with'>

/** The database inside a `write` closure: reads see what the closure has written. */
export type Tx = Db & Pick<Drizzle, 'insert' | 'update' | 'delete' | 'run'>

/** What an open database is beneath: for the write queue, migrations and backups. */
export type Connection = { db: Db; tx: Tx; sqlite: Database.Database; close(): void }

/** How long SQLite itself waits for another process; the event loop waits with it. */
export const BUSY_TIMEOUT_MS = 250

/** Set in this order, read back and compared: a build of SQLite that ignores one must not go unnoticed. */
const PRAGMAS = [
  ['busy_timeout', BUSY_TIMEOUT_MS, BUSY_TIMEOUT_MS],
  ['journal_mode', 'WAL', 'wal'],
  ['synchronous', 'FULL', 2],
  ['foreign_keys', 'ON', 1],
  ['trusted_schema', 'OFF', 0],
  ['cell_size_check', 'ON', 1],
  ['journal_size_limit', 67_108_864, 67_108_864],
] as const

/**
 * Opens the file (mode 0600, folder 0700), or a private database in memory: an empty one for `:memory:`, a copy of one that
 * was serialized for its bytes.
 * @throws StartupError when the folder cannot be written or a pragma does not hold.
 */
export function openDatabase(file: string | Buffer): Connection {
  const sqlite = openFile(file)
  const db = drizzle(sqlite, { casing: 'snake_case' })
  return {
    db,
    tx: db,
    sqlite,
    close() {
      if (!sqlite.memory) optimize(sqlite)
      sqlite.close()
    },
  }
}

/** A disk that takes nothing must not keep the file from being closed. */
function optimize(sqlite: Database.Database): void {
  try {
    sqlite.pragma('optimize')
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error
  }
}

/** Opens an existing database to look at it: nothing is created, and neither its content nor its mode changes. */
export function openForReading(file: string): Database.Database {
  return new Database(file, { readonly: true, fileMustExist: true })
}

/** What was opened for reading, as rooms ask it. */
export function toDb(sqlite: Database.Database): Db {
  return drizzle(sqlite, { casing: 'snake_case' })
}

/** Has this database, which may be of any version, a table of that name? */
export function hasTable(db: Db, name: string): boolean {
  const tables = db.select({ name: sql`name` }).from(sql`sqlite_master`)
  return tables.where(sql`type = 'table' AND name = ${name}`).get() !== undefined
}

function openFile(file: string | Buffer) {
  const path = typeof file === 'string' && file !== ':memory:' ? file : null
  try {
    if (path !== null) mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const sqlite = new Database(file)
    if (path !== null) chmodSync(path, 0o600)
    setPragmas(sqlite, path === null)
    return sqlite
  } catch (error) {
    if (error instanceof StartupError) throw error
    throw new StartupError(`DATA_DIR: cannot open ${path ?? ':memory:'} (${errorMessage(error)})`, { cause: error })
  }
}

function setPragmas(sqlite: Database.Database, isInMemory: boolean): void {
  // Before anything else, for a new file: freed pages can be given back (`space.ts`). Another file stays as it is.
  sqlite.pragma('auto_vacuum = INCREMENTAL')
  for (const [name, value, expected] of PRAGMAS) {
    sqlite.pragma(`${name} = ${value}`)
    const actual = sqlite.pragma(name, { simple: true })
    const isMemoryJournal = isInMemory && name === 'journal_mode'
    if (actual !== expected && !isMemoryJournal)
      throw new StartupError(`Database: ${name} is ${actual}, not ${expected}`)
  }
}
