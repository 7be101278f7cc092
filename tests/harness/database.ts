import { type Connection, openDatabase } from '../../src/db/open.ts'
import { openWriteQueue } from '../../src/db/write.ts'
import { openMigrated } from '../../src/server/database.ts'

let migrated: Buffer | undefined

/** A database in memory as it is to be used. All are copies of one, which takes a fraction of migrating each. */
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
