import { expect, test } from 'bun:test'
import { eq, sql } from 'drizzle-orm'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { deleteInBatches, inBatches } from './in-batches.ts'
import { openDatabase } from './open.ts'
import { openWriteQueue, write } from './write.ts'

const notes = sqliteTable('notes', { id: integer().primaryKey(), kind: text().notNull() })

function openNotes(rows: number) {
  const connection = openDatabase(':memory:')
  openWriteQueue(connection)
  connection.sqlite.exec(`CREATE TABLE notes (id INTEGER PRIMARY KEY, kind TEXT NOT NULL) STRICT;
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})
    INSERT INTO notes SELECT n, iif(n % 2, 'odd', 'even') FROM numbers`)
  const count = () => connection.db.$count(notes)
  return { ...connection, count }
}

test('deleteInBatches deletes only matching rows, in batches between which other writers run', async () => {
  const { db, count } = openNotes(20_000)
  let isOver = false
  const deleting = deleteInBatches(db, notes, eq(notes.kind, 'odd')).finally(() => {
    isOver = true
  })
  let between = 0
  while (!isOver) {
    await write(db, (tx) => tx.run(sql`UPDATE notes SET kind = 'even' WHERE id = 2`))
    between++
  }
  expect(await deleting).toBe(10_000)
  expect(await count()).toBe(10_000)
  expect(between).toBeGreaterThan(10)
})

test('deleteInBatches stops between two batches when its signal aborts; completed batches stay deleted', async () => {
  const { db, count } = openNotes(20_000)
  const ending = new AbortController()
  const change = (tx: Parameters<Parameters<typeof inBatches>[1]>[0], limit: number) => {
    ending.abort(new Error('enough'))
    return tx.run(sql`DELETE FROM notes WHERE id IN (SELECT id FROM notes LIMIT ${limit})`).changes
  }
  await expect(inBatches(db, change, ending.signal)).rejects.toThrow('enough')
  const left = await count()
  expect(left).toBeLessThan(20_000)
  expect(left).toBeGreaterThan(0)
})
