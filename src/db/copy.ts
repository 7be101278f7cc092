import Database from 'better-sqlite3'
import { openForReading } from './open.ts'

/** Pages copied between two progress reports. */
const STEP_PAGES = 2000

/**
 * Copies a consistent snapshot of a database without blocking its writers. The copy is one file without a write-ahead
 * log. `report` gets the progress from 0 to 1.
 * @throws SqliteError when a file cannot be read or written.
 */
export async function copyDatabase(from: string, to: string, report: (done: number) => void): Promise<void> {
  const source = openForReading(from)
  try {
    // The snapshot is taken by the first statement of the transaction.
    source.exec('BEGIN')
    source.prepare('SELECT count(*) FROM sqlite_master').get()
    await source.backup(to, {
      progress({ totalPages, remainingPages }) {
        report(totalPages === 0 ? 0 : 1 - remainingPages / totalPages)
        return STEP_PAGES
      },
    })
  } finally {
    source.close()
  }
  const copy = new Database(to)
  try {
    copy.pragma('journal_mode = DELETE')
  } finally {
    copy.close()
  }
}

/** Checks the integrity and the foreign keys of a database. @returns the first problem, or null. */
export function findDamage(sqlite: Database.Database): string | null {
  const result = sqlite.pragma('integrity_check(1)', { simple: true })
  if (result !== 'ok') return `it is damaged (${String(result)})`
  const orphans = sqlite.pragma('foreign_key_check')
  return Array.isArray(orphans) && orphans.length > 0 ? `${orphans.length} rows have lost their parent` : null
}
