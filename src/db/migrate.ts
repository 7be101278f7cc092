import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type Database from 'better-sqlite3'
import { errorMessage, StartupError } from '../core/errors.ts'
import { giveToOwnerOf } from '../core/files/ownership.ts'
import { sha256 } from '../core/secrets.ts'
import { openForReading } from './open.ts'

/** One file of `migrations/`; `name` is its name without the extension. */
export type Migration = { name: string; sql: string }

const STATEMENT_BREAK = '--> statement-breakpoint'

/**
 * Applies pending migrations, each in its own transaction, after a verified backup of existing data.
 * @returns the names of the applied migrations.
 * @throws StartupError when a newer version wrote the database, an applied file was changed, or a file fails.
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

/** Returns the names of pending migrations without writing. @throws StartupError as `migrate`. */
export function listPendingMigrations(sqlite: Database.Database, migrations: Migration[]): string[] {
  const isNew = sqlite.prepare("SELECT 1 FROM sqlite_master WHERE name = 'migrations'").get() === undefined
  return listPending(isNew ? new Map() : readApplied(sqlite), migrations).map((migration) => migration.name)
}

/** Returns the number of applied migrations. */
export function countMigrations(sqlite: Database.Database): number {
  const isNew = sqlite.prepare("SELECT 1 FROM sqlite_master WHERE name = 'migrations'").get() === undefined
  return isNew ? 0 : readApplied(sqlite).size
}

/**
 * Checks the schema version read-only, because opening for writing changes the file: the database of a newer version
 * stays untouched.
 * @throws StartupError as `migrate`.
 */
export function requireKnownSchema(file: string, migrations: Migration[]): void {
  if (!existsSync(file)) return
  let sqlite: Database.Database | undefined
  try {
    sqlite = openForReading(file)
    listPendingMigrations(sqlite, migrations)
  } catch (error) {
    // Other errors, such as damage, are reported when the file is opened for writing.
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

/** Writes a backup with `VACUUM INTO` and verifies that it is readable. */
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

/**
 * Turns foreign keys off outside the transaction, where the pragma works: rebuilding a table would delete its children.
 */
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
