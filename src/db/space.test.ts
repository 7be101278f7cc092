import { expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { sql } from 'drizzle-orm'
import { findPreparedHold } from '../../tests/harness/speed/loop-hold.ts'
import { tempFolder } from '../../tests/harness/temp-folder.ts'
import { openDatabase } from './open.ts'
import { compact, giveBackSpace, readSpace } from './space.ts'
import { openWriteQueue, write } from './write.ts'

const MEGABYTE = 1024 * 1024
const never = new AbortController().signal

function openNotes(file: string) {
  const connection = openDatabase(file)
  openWriteQueue(connection)
  connection.sqlite.exec(`CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 40000)
    INSERT INTO notes (text) SELECT printf('%.*c', 1000, 'x') FROM numbers`)
  const sizeBytes = () => {
    connection.sqlite.pragma('wal_checkpoint(TRUNCATE)')
    return statSync(file).size
  }
  return { ...connection, sizeBytes }
}

test('giveBackSpace frees most pages of deleted rows in small steps when the database is new', async () => {
  using folder = tempFolder()
  type Opened = { notes: ReturnType<typeof openNotes>; full: number; given: number }
  const opened: Opened[] = []
  const open = async () => {
    const notes = openNotes(folder.file(`${opened.length}.db`))
    await write(notes.db, (tx) => tx.run(sql`DELETE FROM notes WHERE id <= 30000`))
    const one: Opened = { notes, full: notes.sizeBytes(), given: 0 }
    opened.push(one)
    return one
  }
  const give = async (one: Opened) => {
    one.given = await giveBackSpace(one.notes, never)
  }
  expect(await findPreparedHold(50, open, give)).toBeLessThan(50)
  for (const { notes, full, given } of opened) {
    expect(full).toBeGreaterThan(35 * MEGABYTE)
    expect(given).toBeGreaterThan(4000)
    expect(notes.sizeBytes()).toBeLessThan(full - 15 * MEGABYTE)
    expect(readSpace(notes).freePages).toBeGreaterThan(500)
    expect(notes.sqlite.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(await giveBackSpace(notes, never)).toBe(0)
    notes.close()
  }
})

test('giveBackSpace frees pages of an older database when it was compacted once', async () => {
  using folder = tempFolder()
  const file = folder.file('stead.db')
  const old = new Database(file)
  old.exec('CREATE TABLE others (id INTEGER PRIMARY KEY)')
  old.close()
  const notes = openNotes(file)
  await write(notes.db, (tx) => tx.run(sql`DELETE FROM notes WHERE id <= 30000`))
  expect(readSpace(notes).canGiveBack).toBe(false)
  expect(await giveBackSpace(notes, never)).toBe(0)
  const full = notes.sizeBytes()
  compact(notes)
  expect(notes.sizeBytes()).toBeLessThan(full / 3)
  expect(readSpace(notes)).toMatchObject({ canGiveBack: true, freePages: 0 })
  expect(notes.sqlite.prepare('SELECT count(*) FROM notes').pluck().get()).toBe(10_000)
  notes.close()
})
