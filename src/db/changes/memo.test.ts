import { expect, test } from 'bun:test'
import Database from 'better-sqlite3'
import { sql } from 'drizzle-orm'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import { memoize } from '../changes.ts'
import { openDatabase } from '../open.ts'
import { openWriteQueue, write } from '../write.ts'

test('a value is cached until the next write and then read again', async () => {
  const connection = openDatabase(':memory:')
  openWriteQueue(connection)
  const reads: string[] = []
  const find = memoize(connection.db, (key) => {
    reads.push(key)
    return key.length
  })
  expect([find('one'), find('one'), find('three')]).toEqual([3, 3, 5])
  expect(reads).toEqual(['one', 'three'])
  await write(connection.db, (tx) => tx.run(sql`CREATE TABLE t (n)`))
  find('one')
  expect(reads).toEqual(['one', 'three', 'one'])
  connection.close()
})

test('a value is read again in the next turn of the event loop when another process writes', async () => {
  using folder = tempFolder()
  const file = folder.file('stead.db')
  const connection = openDatabase(file)
  openWriteQueue(connection)
  await write(connection.db, (tx) => tx.run(sql`CREATE TABLE t (n)`))
  const count = connection.sqlite.prepare<[], { rows: number }>('SELECT count(*) AS rows FROM t')
  const find = memoize(connection.db, () => count.get()?.rows)
  expect(find('rows')).toBe(0)
  const other = new Database(file)
  other.exec('INSERT INTO t VALUES (1)')
  other.close()
  await new Promise((resolve) => setImmediate(resolve))
  expect(find('rows')).toBe(1)
  connection.close()
})

test('a value is not cached when there is no write queue', () => {
  const connection = openDatabase(':memory:')
  let reads = 0
  const find = memoize(connection.db, () => ++reads)
  find('one')
  expect(find('one')).toBe(2)
  connection.close()
})
