import { type Connection, openDatabase } from '../../src/db/open.ts'
import { openWriteQueue } from '../../src/db/write.ts'
import { openMigrated } from '../../src/server/database.ts'

let migrated: Buffer | undefined

/** Opens a migrated database in memory. It is a copy of a shared template, which is much faster than migrating. */
export function openTestDatabase(): Connection {
  migrated ??= migrateOne()
  const connection = openDatabase(migrated)
  openWriteQueue(connection)
  return connection
}

function migrateOne(): Buffer {
  const { sqlite, close } = openMigrated(':memory:', 'nowhere').connection
  const bytes = sqlite.serialize()
  close()
  return bytes
}
