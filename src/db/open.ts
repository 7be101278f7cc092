import { chmodSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { sql } from 'drizzle-orm'
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3'
import { errorMessage, StartupError } from '../core/errors.ts'

type Drizzle = BetterSQLite3Database & { $client: Database.Database }

/** Read access to the database; only `write` provides a `Tx`. */
export type Db = Pick<Drizzle, 'select' | 'selectDistinct' | '$count' | '$with' | 'with'>

/** The database inside a `write` closure; reads see the closure's writes. */
export type Tx = Db & Pick<Drizzle, 'insert' | 'update' | 'delete' | 'run'>

/** Returns the connection of a transaction, for statements that Drizzle would slow down. */
export function clientOf(tx: Tx): Database.Database {
  return (tx as Drizzle).$client
}

/** The underlying connection, for the write queue, migrations and backups. `sqlite` is the one that writes. */
export type Connection = { db: Db; tx: Tx; sqlite: Database.Database; reader: Database.Database; close(): void }

/** How long SQLite waits for another process, blocking the event loop. */
export const BUSY_TIMEOUT_MS = 250

/** Set in this order and read back, because a SQLite build may ignore a pragma. */
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
 * Opens the file (mode 0600, folder 0700), or an in-memory database: empty for `:memory:`, a copy for serialized bytes.
 * With `hasOwnReader`, for a node of a cluster, `db` reads by a connection of its own, which sees only what is committed.
 * @throws StartupError when the folder cannot be written or a pragma has no effect.
 */
export function openDatabase(file: string | Buffer, { hasOwnReader = false } = {}): Connection {
  const sqlite = openFile(file)
  const tx = drizzle(sqlite, { casing: 'snake_case' })
  const reader = hasOwnReader ? openFile(file) : sqlite
  if (hasOwnReader) {
    reader.pragma('query_only = ON')
    // The log is what is durable: after a loss of power the file is consistent, and reads what it lacks from the log.
    sqlite.pragma('synchronous = NORMAL')
  }
  return {
    db: hasOwnReader ? drizzle(reader, { casing: 'snake_case' }) : tx,
    tx,
    sqlite,
    reader,
    close() {
      // Statistics choose the order of rows, which has to be the same on all nodes of a cluster.
      if (!sqlite.memory && !hasOwnReader) optimize(sqlite)
      if (hasOwnReader) reader.close()
      sqlite.close()
    },
  }
}

/** A full disk must not prevent closing the file. */
function optimize(sqlite: Database.Database): void {
  try {
    sqlite.pragma('optimize')
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error
  }
}

/** Opens an existing database read-only, without changing its content or mode. */
export function openForReading(file: string): Database.Database {
  return new Database(file, { readonly: true, fileMustExist: true })
}

/** Wraps a read-only connection. */
export function toDb(sqlite: Database.Database): Db {
  return drizzle(sqlite, { casing: 'snake_case' })
}

/** Returns whether the database, of any schema version, has the table. */
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
  // Must come first and affects new files only: lets `space.ts` return freed pages.
  sqlite.pragma('auto_vacuum = INCREMENTAL')
  for (const [name, value, expected] of PRAGMAS) {
    sqlite.pragma(`${name} = ${value}`)
    const actual = sqlite.pragma(name, { simple: true })
    const isMemoryJournal = isInMemory && name === 'journal_mode'
    if (actual !== expected && !isMemoryJournal)
      throw new StartupError(`Database: ${name} is ${actual}, not ${expected}`)
  }
}
