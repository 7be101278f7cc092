/** A process that holds the database file it is given against every other writer until it is killed. */
import Database from 'better-sqlite3'

const database = new Database(process.argv[2] ?? '')
database.pragma('journal_mode = WAL')
database.exec('BEGIN EXCLUSIVE')
console.log('locked')
// The reference keeps the connection, and with it the lock, from being collected.
setInterval(() => database.inTransaction, 60_000)
