import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { type Connection, openDatabase } from '../../../src/db/open.ts'
import { openWriteQueue } from '../../../src/db/write.ts'

/** The smallest table that a test of the database needs. */
export const notes = sqliteTable('notes', { id: integer().primaryKey(), text: text().notNull() })

/** A database with `notes` and its write queue. */
export function openNotes(file = ':memory:'): Connection {
  const connection = openDatabase(file)
  connection.sqlite.exec('CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT')
  openWriteQueue(connection)
  return connection
}
