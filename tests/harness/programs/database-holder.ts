/** Holds the write lock of the database in the first argument until it is killed. */
import Database from 'better-sqlite3'

const database = new Database(process.argv[2] ?? '')
database.pragma('journal_mode = WAL')
database.exec('BEGIN EXCLUSIVE')
console.log('locked')
// A reference, so that the connection and its lock are not garbage collected.
setInterval(() => database.inTransaction, 60_000)
