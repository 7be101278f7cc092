import Database from 'better-sqlite3'
import { sha256 } from '../../core/secrets.ts'
import { openForReading } from '../open.ts'

/** The last log entry that this file contains: its number, and the hash of all entries up to it. */
export type LogPosition = { cluster: string; seq: number; hash: string }

/** Tables that differ between the nodes of a cluster by design. */
export const LOCAL_TABLES: ReadonlySet<string> = new Set(['log_applied', 'migrations'])

/** Creates the table that holds the position in the log. */
function prepareLogPosition(sqlite: Database.Database): void {
  sqlite.exec(
    'CREATE TABLE IF NOT EXISTS log_applied (id INTEGER PRIMARY KEY CHECK (id = 1), cluster TEXT NOT NULL, seq INTEGER NOT NULL, hash TEXT NOT NULL) STRICT',
  )
}

/** Returns the position in the log, or null for a file that never belonged to a cluster. */
export function readLogPosition(sqlite: Database.Database): LogPosition | null {
  const hasTable = sqlite.prepare("SELECT 1 FROM sqlite_master WHERE name = 'log_applied'").get() !== undefined
  if (!hasTable) return null
  return sqlite.prepare<[], LogPosition>('SELECT cluster, seq, hash FROM log_applied').get() ?? null
}

/** Returns the statement that stores a position: cluster, seq, hash. */
export function preparePositionUpdate(sqlite: Database.Database): Database.Statement<[string, number, string]> {
  return sqlite.prepare(
    'INSERT INTO log_applied (id, cluster, seq, hash) VALUES (1, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET cluster = excluded.cluster, seq = excluded.seq, hash = excluded.hash',
  )
}

/** Returns the hash of an entry; it includes the previous one, so equal hashes mean equal histories. */
export function hashEntry(previous: string, body: string): string {
  return sha256(`${previous}\n${body}`)
}

/** Reads the position of a file that is not open. */
export function readPositionOfFile(file: string): LogPosition | null {
  const sqlite = openForReading(file)
  try {
    return readLogPosition(sqlite)
  } finally {
    sqlite.close()
  }
}

/** Stores a first position in a file, which is created if it is missing. */
export function writePositionOfFile(file: string, { cluster, seq, hash }: LogPosition): void {
  const sqlite = new Database(file)
  sqlite.pragma('journal_mode = WAL')
  prepareLogPosition(sqlite)
  preparePositionUpdate(sqlite).run(cluster, seq, hash)
  // Statistics choose the order of rows, which has to be the same on all nodes.
  const hasStatistics = sqlite.prepare("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'").get() !== undefined
  if (hasStatistics) sqlite.exec('DELETE FROM sqlite_stat1')
  sqlite.close()
}

/** Makes a file that is not open a single node's. @returns its last position; null when it belongs to no cluster. */
export function leaveLog(file: string): LogPosition | null {
  const sqlite = new Database(file, { fileMustExist: true })
  try {
    const position = readLogPosition(sqlite)
    sqlite.exec('DROP TABLE IF EXISTS log_applied')
    return position
  } finally {
    sqlite.close()
  }
}

/** Returns the version of SQLite, which has to be the same on all nodes. */
export function readSqliteVersion(): string {
  const sqlite = new Database(':memory:')
  const version = sqlite.prepare<[], string>('SELECT sqlite_version()').pluck().get() ?? ''
  sqlite.close()
  return version
}
