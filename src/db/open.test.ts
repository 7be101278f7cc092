import { expect, test } from 'bun:test'
import { statSync, writeFileSync } from 'node:fs'
import { notes, openNotes } from '../../tests/harness/rows/notes.ts'
import { tempFolder } from '../../tests/harness/temp-folder.ts'
import { StartupError } from '../core/errors.ts'
import { openDatabase } from './open.ts'

test('openDatabase sets every pragma for durability and integrity on a file', () => {
  using folder = tempFolder()
  const { sqlite, close } = openDatabase(folder.file('stead.db'))
  const names = ['journal_mode', 'synchronous', 'foreign_keys', 'trusted_schema', 'cell_size_check', 'busy_timeout']
  const values = names.map((name) => [name, sqlite.pragma(name, { simple: true })])
  expect(Object.fromEntries(values)).toEqual({
    journal_mode: 'wal',
    synchronous: 2,
    foreign_keys: 1,
    trusted_schema: 0,
    cell_size_check: 1,
    busy_timeout: 250,
  })
  close()
})

test('openDatabase makes the file, its folder and its log readable by the owner only', () => {
  using folder = tempFolder()
  const { sqlite, close } = openDatabase(folder.file('new/stead.db'))
  sqlite.exec('CREATE TABLE a (id INTEGER)')
  const modes = ['new', 'new/stead.db', 'new/stead.db-wal'].map((name) => statSync(folder.file(name)).mode & 0o777)
  expect(modes.map((mode) => mode.toString(8))).toEqual(['700', '600', '600'])
  close()
})

test('openDatabase returns written rows when the file is opened again', () => {
  using folder = tempFolder()
  const first = openNotes(folder.file('stead.db'))
  first.tx.insert(notes).values({ id: 1, text: 'kept' }).run()
  first.close()
  const second = openNotes(folder.file('stead.db'))
  expect(second.db.select().from(notes).all()).toEqual([{ id: 1, text: 'kept' }])
  second.close()
})

test('a row is refused when its parent does not exist', () => {
  const { sqlite } = openDatabase(':memory:')
  sqlite.exec('CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a INTEGER REFERENCES a(id))')
  expect(() => sqlite.exec('INSERT INTO b VALUES (1)')).toThrow('FOREIGN KEY')
})

test('openDatabase throws a line that names DATA_DIR when a file cannot be opened', () => {
  using folder = tempFolder()
  writeFileSync(folder.file('a-file'), '')
  expect(() => openDatabase(folder.file('a-file/stead.db'))).toThrow(StartupError)
  expect(() => openDatabase(folder.file('a-file/stead.db'))).toThrow(/^DATA_DIR: /)
})

test('openDatabase throws when a file is not a database', () => {
  using folder = tempFolder()
  writeFileSync(folder.file('stead.db'), 'this is not SQLite, whatever its name says'.repeat(100))
  expect(() => openDatabase(folder.file('stead.db'))).toThrow(StartupError)
})

test('the type of a read-only database has no method that writes', () => {
  const { db } = openNotes()
  // @ts-expect-error: only `write` provides a connection that can insert.
  db.insert
  // @ts-expect-error: nor update.
  db.update
  // @ts-expect-error: nor delete.
  db.delete
  // @ts-expect-error: nor run any SQL.
  db.run
  // @ts-expect-error: it cannot open a transaction either.
  db.transaction
  expect(db.select().from(notes).all()).toEqual([])
})
