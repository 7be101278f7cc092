import { join } from 'node:path'
import Database from 'better-sqlite3'
import { StartupError } from '../core/errors.ts'

/**
 * Makes this process the only server on `dataDir` until it ends, however it ends: the lock is the operating system's.
 * @returns the function that lets go.
 * @throws StartupError when another server holds the folder.
 */
export function lockDataDir(dataDir: string): () => void {
  const lock = new Database(join(dataDir, 'instance.lock'))
  lock.pragma('busy_timeout = 0')
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    throw new StartupError(`DATA_DIR: another Stead is already running on ${dataDir}`, { cause: error })
  }
  return () => lock.close()
}
