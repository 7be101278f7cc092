import { join } from 'node:path'
import { migrations } from '../../migrations/list.ts'
import { type Config, readConfig } from '../core/config.ts'
import { migrate } from '../db/migrate.ts'
import { type Connection, openDatabase } from '../db/open.ts'
import { openWriteQueue } from '../db/write.ts'
import { warnOfMisspelt } from './misspelt.ts'

/**
 * Opens the configured database for one command and closes it afterwards. Works beside a running server: SQLite lets the
 * two take turns.
 * @throws StartupError as `readConfig`, `openDatabase` and `migrate`.
 */
export async function withDatabase<T>(
  work: (connection: Connection, config: Config, applied: string[]) => Promise<T>,
): Promise<T> {
  const config = readConfig(process.env)
  warnOfMisspelt(process.env)
  const connection = openDatabase(config.databaseFile)
  try {
    const applied = migrate(connection.sqlite, migrations, { backupDir: join(config.dataDir, 'backups') })
    openWriteQueue(connection)
    return await work(connection, config, applied)
  } finally {
    connection.close()
  }
}
