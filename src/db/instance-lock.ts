import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { errorMessage, StartupError } from '../core/errors.ts'
import { giveToOwnerOf } from '../core/files/ownership.ts'

/**
 * Locks `dataDir` for this process until it ends; the operating system releases the lock even after a crash.
 * @returns a function that releases the lock.
 * @throws StartupError when another server holds it, or the lock file cannot be written.
 */
export function lockDataDir(dataDir: string): () => void {
  let lock: Database.Database | undefined
  try {
    const file = join(dataDir, 'instance.lock')
    const isNew = !existsSync(file)
    lock = new Database(file)
    lock.pragma('busy_timeout = 0')
    lock.exec('BEGIN EXCLUSIVE')
    if (isNew) giveToOwnerOf(dataDir, file)
  } catch (error) {
    lock?.close()
    const isHeld = error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY'
    const reason = isHeld ? 'another Stead is already running on' : `cannot lock (${errorMessage(error)})`
    throw new StartupError(`DATA_DIR: ${reason} ${dataDir}`, { cause: error })
  }
  return () => lock.close()
}

/** Returns whether a server runs on `dataDir`: its exclusive lock prevents reading. */
export function isServed(dataDir: string): boolean {
  const file = join(dataDir, 'instance.lock')
  if (!existsSync(file)) return false
  const lock = new Database(file, { readonly: true, timeout: 0 })
  try {
    lock.prepare('SELECT count(*) FROM sqlite_master').get()
    return false
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY') return true
    throw error
  } finally {
    lock.close()
  }
}
