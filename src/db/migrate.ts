import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type Database from 'better-sqlite3'
import { errorMessage, StartupError } from '../core/errors.ts'
import { giveToOwnerOf } from '../core/files/ownership.ts'
import { sha256 } from '../core/secrets.ts'
import { openForReading } from './open.ts'

/** One file of `migrations/`, in order; `name` is the file's name without its ending. */
export type Migration = { name: string; sql: string }

const STATEMENT_BREAK = '--> statement-breakpoint'

/**
 * Brings the schema up to date, each file in a transaction of its own, after a verified backup of what was there.
 * @returns the names of the migrations that were applied now.
 * @throws StartupError when a newer program wrote the database, an applied file was changed, or a file fails.
 */
export function migrate(
  sqlite: Database.Database,
  migrations: Migration[],
  options: { backupDir?: string } = {},
): string[] {
  sqlite.exec(
    'CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, hash TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT',
  )
  const applied = readApplied(sqlite)
  const pending = listPending(applied, migrations)
  if (pending.length > 0 && applied.size > 0 && options.backupDir) backUp(sqlite, options.backupDir, applied.size)
  for (const migration of pending) apply(sqlite, migration)
  return pending.map((migration) => migration.name)
}

/**
 * The names of the migrations that `migrate` would apply; nothing is written.
 * @throws StartupError as `migrate`.
 */
export function listPendingMigrations(sqlite: Database.Database, migrations: Migration[]): string[] {
  const isNew = sqlite.prepare("SELECT 1 FROM sqlite_master WHERE name = 'migrations'").get() === undefined
  return listPending(isNew ? new Map() : readApplied(sqlite), migrations).map((migration) => migration.name)
}

/**
 * Says so before the file is opened for writing, which changes it by the first pragma: the database of a newer program stays
 * as it is, byte for byte.
 * @throws StartupError as `migrate`.
 */
export function requireKnownSchema(file: string, migrations: Migration[]): void {
  if (!existsSync(file)) return
  let sqlite: Database.Database | undefined
  try {
    sqlite = openForReading(file)
    listPendingMigrations(sqlite, migrations)
  } catch (error) {
    // What is damaged or locked is told by what opens it for good.
    if (error instanceof StartupError) throw error
  } finally {
    sqlite?.close()
  }
}

function readApplied(sqlite: Database.Database): Map<string, string> {
  const rows = sqlite.prepare<[], { name: string; hash: string }>('SELECT name, hash FROM migrations').all()
  return new Map(rows.map((row) => [row.name, row.hash]))
}

function listPending(applied: Map<string, string>, migrations: Migration[]): Migration[] {
  requireKnown(applied, migrations)
  return migrations.filter((migration) => !applied.has(migration.name))
}

function requireKnown(applied: Map<string, string>, migrations: Migration[]): void {
  for (const [name, hash] of applied) {
    const known = migrations.find((migration) => migration.name === name)
    if (!known)
      throw new StartupError(`Database: written by a newer version of Stead (migration ${name} is not known here)`)
    if (sha256(known.sql) !== hash)
      throw new StartupError(`Database: migration ${name} was applied with another content`)
  }
}

/** `VACUUM INTO` a file named after the schema it holds, then proves that the copy can be read whole. */
function backUp(sqlite: Database.Database, backupDir: string, schemaVersion: number): void {
  const file = join(backupDir, `before-migration-${schemaVersion + 1}-${Date.now()}.db`)
  try {
    mkdirSync(backupDir, { recursive: true, mode: 0o700 })
    sqlite.prepare('VACUUM INTO ?').run(file)
    giveToOwnerOf(dirname(backupDir), backupDir, file)
  } catch (error) {
    throw new StartupError(`Database: the backup ${file} cannot be written (${errorMessage(error)})`, { cause: error })
  }
  if (!existsSync(file) || statSync(file).size === 0)
    throw new StartupError(`Database: the backup ${file} was not written`)
  sqlite.prepare('ATTACH ? AS backup').run(file)
  try {
    const result = sqlite.pragma('backup.quick_check', { simple: true })
    if (result !== 'ok') throw new StartupError(`Database: the backup ${file} is damaged (${result})`)
  } finally {
    sqlite.exec('DETACH backup')
  }
}

/** Foreign keys are off outside the transaction: inside, the pragma does nothing and a rebuilt table would delete its children. */
function apply(sqlite: Database.Database, migration: Migration): void {
  sqlite.pragma('foreign_keys = OFF')
  try {
    sqlite.transaction(() => {
      for (const statement of migration.sql.split(STATEMENT_BREAK)) sqlite.exec(statement)
      const violations = sqlite.pragma('foreign_key_check')
      if (Array.isArray(violations) && violations.length > 0)
        throw new Error(`${violations.length} rows lost their parent`)
      sqlite
        .prepare('INSERT INTO migrations (name, hash, applied_at) VALUES (?, ?, ?)')
        .run(migration.name, sha256(migration.sql), Date.now())
    })()
  } catch (error) {
    throw new StartupError(`Database: migration ${migration.name} failed (${String(error)})`, { cause: error })
  } finally {
    sqlite.pragma('foreign_keys = ON')
  }
}
