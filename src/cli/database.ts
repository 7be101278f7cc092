import { existsSync } from 'node:fs'
import { migrations } from '../../migrations/list.ts'
import { type Config, readConfig } from '../core/config.ts'
import { AppError } from '../core/errors.ts'
import { lockDataDir } from '../db/instance-lock.ts'
import { listPendingMigrations } from '../db/migrate.ts'
import { type Connection, openForReading } from '../db/open.ts'
import { compact } from '../db/space.ts'
import { openMigrated } from '../server/database.ts'
import { warnOfMisspelt } from './misspelt.ts'
import { readEnvironment } from './settings/environment.ts'

/**
 * Opens the configured database for one command; a running server may use it at the same time.
 * @throws StartupError as `readConfig`, `openDatabase` and `migrate`; AppError `conflict` in a cluster, whose other nodes
 * would not learn of the command's writes.
 */
export async function withDatabase<T>(
  work: (connection: Connection, config: Config, applied: string[]) => Promise<T>,
): Promise<T> {
  const config = readConfig(readEnvironment())
  warnOfMisspelt(process.env)
  if (config.cluster) {
    const message = 'DATA_DIR: belongs to a cluster, where this command cannot write: use the dashboard or the API'
    throw new AppError('conflict', message)
  }
  const { connection, applied } = openMigrated(config.databaseFile, config.dataDir)
  try {
    return await work(connection, config, applied)
  } finally {
    connection.close()
  }
}

/** Compacts the database file. @throws StartupError while a server runs on the folder. */
export function compactStopped(connection: Connection, { dataDir }: Pick<Config, 'dataDir'>): void {
  const unlock = lockDataDir(dataDir)
  try {
    compact(connection)
  } finally {
    unlock()
  }
}

/**
 * Returns the number of applied migrations and those that the next start applies; null without a database.
 * @throws StartupError
 */
export function readMigrationStatus(databaseFile: string): { applied: number; pending: string[] } | null {
  if (!existsSync(databaseFile)) return null
  const sqlite = openForReading(databaseFile)
  try {
    const pending = listPendingMigrations(sqlite, migrations)
    return { applied: migrations.length - pending.length, pending }
  } finally {
    sqlite.close()
  }
}
