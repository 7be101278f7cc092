import { expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import { createChangeFeed } from '../changes.ts'
import { type Connection, openDatabase } from '../open.ts'
import { openWriteQueue, write } from '../write.ts'

async function openFeed(file: string) {
  const connection = openDatabase(file)
  openWriteQueue(connection)
  await write(connection.db, (tx) => void tx.run(sql`create table if not exists things (name text)`))
  const feed = createChangeFeed(connection.db)
  const close = () => {
    feed.close()
    connection.close()
  }
  return { ...connection, feed, [Symbol.dispose]: close }
}

const put = (connection: Connection) => write(connection.db, (tx) => void tx.run(sql`insert into things values ('a')`))
const never = new AbortController().signal

/** Returns whether `promise` has settled. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending')
  return (await Promise.race([promise, Bun.sleep(250).then(() => pending)])) !== pending
}

test('a waiter resolves when there is a write after its count', async () => {
  using connection = await openFeed(':memory:')
  const { feed } = connection
  const since = feed.count()
  const waiting = Array.from({ length: 100 }, () => feed.changed(since, never))
  expect(await isSettled(Promise.race(waiting))).toBe(false)
  await put(connection)
  await Promise.all(waiting)
  expect(feed.count()).toBeGreaterThan(since)
})

test('a waiter resolves when a write came between the count and the wait', async () => {
  using connection = await openFeed(':memory:')
  const { feed } = connection
  const since = feed.count()
  await put(connection)
  await feed.changed(since, never)
  expect(await isSettled(feed.changed(feed.count(), never))).toBe(false)
})

test('a waiter resolves when another process writes', async () => {
  using folder = tempFolder()
  using connection = await openFeed(folder.file('a.db'))
  using other = await openFeed(folder.file('a.db'))
  const { feed } = connection
  const waiting = feed.changed(feed.count(), never)
  await put(other)
  await waiting
})

test('a waiter ends when its signal aborts, before or during the wait', async () => {
  using connection = await openFeed(':memory:')
  const { feed } = connection
  await feed.changed(feed.count(), AbortSignal.abort())
  const ending = new AbortController()
  const waiting = feed.changed(feed.count(), ending.signal)
  ending.abort()
  await waiting
})
