import Database from 'better-sqlite3'
import { openForReading } from './open.ts'

/** Pages that are copied between two reports. */
const STEP_PAGES = 2000

/**
 * Copies a database as it is at one moment, while others read and write it: page by page within one reading transaction,
 * which keeps nobody from writing. The copy is one file, without a log beside it. `report` is told how much is done, 0 to 1.
 * @throws SqliteError when one of them cannot be read or written.
 */
export async function copyDatabase(from: string, to: string, report: (done: number) => void): Promise<void> {
  const source = openForReading(from)
  try {
    // Reading begins with the first statement, and everything is of that moment.
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

/** What is wrong with a database that was opened for reading, as whole and by its references; null when nothing is. */
export function findDamage(sqlite: Database.Database): string | null {
  const result = sqlite.pragma('integrity_check(1)', { simple: true })
  if (result !== 'ok') return `it is damaged (${String(result)})`
  const orphans = sqlite.pragma('foreign_key_check')
  return Array.isArray(orphans) && orphans.length > 0 ? `${orphans.length} rows have lost their parent` : null
}
