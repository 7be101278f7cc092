import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { type Connection, openDatabase } from '../../../src/db/open.ts'
import { openWriteQueue } from '../../../src/db/write.ts'

/** A minimal table for tests of the database. */
export const notes = sqliteTable('notes', { id: integer().primaryKey(), text: text().notNull() })

/** Opens a database with the table `notes` and its write queue. */
export function openNotes(file = ':memory:'): Connection {
  const connection = openDatabase(file)
  connection.sqlite.exec('CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT')
  openWriteQueue(connection)
  return connection
}
