import { afterEach, describe, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { sql } from 'drizzle-orm'
import { capturedLog } from '../../../tests/harness/log.ts'
import { findHold, findPreparedHold } from '../../../tests/harness/speed/loop-hold.ts'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import { until } from '../../../tests/harness/until.ts'
import { openDatabase } from '../open.ts'
import { openWriteQueue, write } from '../write.ts'
import { startCheckpoints } from './checkpoints.ts'

const MEGABYTE = 1024 * 1024
/** The rows of one write, 100 KB of them. */
const ROWS = 100
/** Longer blocks of the event loop fail the test. */
const HOLD_MS = 50

const ends: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function openNotes(options: { quietMs?: number; pauseMs?: number; file?: string } = {}) {
  const folder = tempFolder()
  const file = folder.file('stead.db')
  const connection = openDatabase(file)
  connection.sqlite.exec('CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT')
  openWriteQueue(connection)
  const { log, lines } = capturedLog()
  const checkpoints = startCheckpoints({ sqlite: connection.sqlite, file, log, quietMs: 60_000, ...options })
  ends.push(
    () => folder[Symbol.dispose](),
    () => connection.close(),
    () => checkpoints.stop(),
  )
  const put = () =>
    write(connection.db, (tx) => {
      for (let row = 0; row < ROWS; row++) tx.run(sql`INSERT INTO notes (text) VALUES (${'x'.repeat(1000)})`)
    })
  const walBytes = () => statSync(`${file}-wal`).size
  const logged = () => JSON.stringify(lines)
  return { ...connection, file, checkpoints, put, walBytes, logged }
}

test('the write-ahead log restarts repeatedly during constant writes without delaying a commit', async () => {
  const { put, walBytes, sqlite } = openNotes()
  let longest = 0
  // 80 MB, and indices and pages that are written twice.
  const work = async () => {
    for (let written = 0; written < 800; written++) {
      await put()
      longest = Math.max(longest, walBytes())
      if (written % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 60))
    }
  }
  expect(await findHold(HOLD_MS, work)).toBeLessThan(HOLD_MS)
  expect(longest).toBeLessThan(64 * MEGABYTE)
  await until('the log to be short', () => walBytes() < 20 * MEGABYTE)
  expect(sqlite.pragma('integrity_check', { simple: true })).toBe('ok')
}, 300_000)

test('the write-ahead log is copied into the database after a while when there are no further writes', async () => {
  const { put, file, checkpoints } = openNotes({ quietMs: 500 })
  await put()
  const before = statSync(file).size
  await until('the copy', () => statSync(file).size > before)
  expect(checkpoints.state()).toMatchObject({ isStuck: false })
})

test('commits empty the write-ahead log while the copy fails, which is logged once; then the copy continues', async () => {
  const folder = tempFolder()
  const file = folder.file('elsewhere.db')
  const { put, sqlite, logged } = openNotes({ file, pauseMs: 300 })
  const autocheckpoint = () => sqlite.pragma('wal_autocheckpoint', { simple: true })
  ends.push(() => folder[Symbol.dispose]())
  const writeUntil = (what: string, isSo: () => boolean) =>
    until(what, async () => {
      for (let count = 0; count < 20; count++) await put()
      return isSo()
    })
  await writeUntil('word of it', () => logged().includes('by commits for now'))
  expect(autocheckpoint()).toBe(1000)
  expect(logged().split('by commits for now')).toHaveLength(2)
  new Database(file).close()
  await writeUntil('the worker', () => logged().includes('beside the commits again'))
  expect(autocheckpoint()).toBe(0)
}, 300_000)

describe('a reader that blocks the write-ahead log', () => {
  test('is logged once, and the log is emptied without blocking the event loop when the reader ends', async () => {
    const { put, file, checkpoints, walBytes, logged } = openNotes()
    let times = 0
    const stick = async () => {
      const reader = new Database(file, { readonly: true })
      const row = reader.prepare('SELECT * FROM notes LIMIT 1')
      reader.exec('BEGIN')
      row.all()
      await until(
        'word of it',
        async () => {
          for (let count = 0; count < 20; count++) await put()
          return checkpoints.state().isStuck
        },
        300_000,
      )
      times += 1
      expect(checkpoints.state().bytes).toBeGreaterThanOrEqual(64 * MEGABYTE)
      expect(logged().split('cannot be emptied')).toHaveLength(times + 1)
      reader.exec('COMMIT')
      reader.close()
    }
    const empty = async () => {
      await put()
      await until(
        'an empty log',
        async () => {
          await put()
          return !checkpoints.state().isStuck && walBytes() < 20 * MEGABYTE
        },
        300_000,
      )
    }
    expect(await findPreparedHold(HOLD_MS, stick, empty)).toBeLessThan(HOLD_MS)
    expect(logged().split('can be emptied again')).toHaveLength(times + 1)
  }, 300_000)
})
