import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { eq, sql } from 'drizzle-orm'
import fc from 'fast-check'
import { notes, openNotes } from '../../tests/harness/rows/notes.ts'
import { tempFolder } from '../../tests/harness/temp-folder.ts'
import { readLines } from '../../tests/harness/wires/lines.ts'
import { AppError } from '../core/errors.ts'
import { type Connection, openDatabase, type Tx } from './open.ts'
import { findWriteFailure, write } from './write.ts'

type Note = { id: number; text: string }

const put = (tx: Tx, { id, text }: Note) =>
  tx.insert(notes).values({ id, text }).onConflictDoUpdate({ target: notes.id, set: { text } }).run()
const readAll = (db: Pick<Tx, 'select'>): Note[] => db.select().from(notes).orderBy(notes.id).all()

describe('writes of random closures', () => {
  /** One step of a caller of `write`; a pause ends the turn, so the next step is in another commit. */
  type Step = { kind: 'put' | 'fail' | 'break a rule' | 'be asynchronous' | 'forget to run' | 'pause'; note: Note }
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom('put', 'put', 'put', 'fail', 'break a rule', 'be asynchronous', 'forget to run', 'pause'),
    note: fc.record({ id: fc.nat(5), text: fc.string() }),
  })

  test('run in order, each sees the earlier ones that succeeded, and one that fails leaves nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { db, close } = openNotes()
        const model = new Map<number, string>()
        const promises: Promise<unknown>[] = []
        for (const { kind, note } of steps) {
          if (kind === 'pause') {
            await nextTurn()
            continue
          }
          if (kind === 'put') model.set(note.id, note.text)
          const expected = toNotes(model)
          promises.push(
            kind === 'put'
              ? write(db, (tx) => {
                  put(tx, note)
                  return readAll(tx)
                }).then((seen) => expect(seen).toEqual(expected))
              : rejected(write(db, (tx) => misbehave(tx, kind, note))),
          )
        }
        await Promise.all(promises)
        expect(readAll(db)).toEqual(toNotes(model))
        close()
      }),
    )
  })

  function misbehave(tx: Tx, kind: Step['kind'], note: Note): unknown {
    put(tx, note)
    if (kind === 'be asynchronous') return Promise.reject(new Error('nobody hears this'))
    if (kind === 'forget to run') return tx.insert(notes).values({ id: 99, text: 'never run' })
    if (kind === 'break a rule') return tx.run(sql`INSERT INTO notes (id, text) VALUES (1, 'a'), (1, 'b')`)
    throw new Error('the closure gave up')
  }

  function toNotes(model: Map<number, string>): Note[] {
    return [...model].map(([id, text]) => ({ id, text })).sort((left, right) => left.id - right.id)
  }
})

test('share one commit when they come in one turn of the event loop, and use another in the next', async () => {
  using folder = tempFolder()
  const { db, close } = openNotes(folder.file('stead.db'))
  const count = async (work: () => Promise<unknown>) => {
    const before = countCommits(folder.file('stead.db-wal'))
    await work()
    return countCommits(folder.file('stead.db-wal')) - before
  }
  const commits: number[] = []
  // A machine that pauses in the middle of a turn ends it; it does not pause each time.
  for (let round = 0; round < 10 && commits.at(-1) !== 1; round += 1) {
    const ids = Array.from({ length: 64 }, (_, index) => round * 64 + index)
    const writeAll = () => Promise.all(ids.map((id) => write(db, (tx) => put(tx, { id, text: 'one' }))))
    commits.push(await count(writeAll))
  }
  expect(commits).toContain(1)
  const writeApart = async () => {
    await write(db, (tx) => put(tx, { id: 1000, text: 'two' }))
    await write(db, (tx) => put(tx, { id: 1001, text: 'three' }))
  }
  expect(await count(writeApart)).toBe(2)
  close()
})

test('write resolves after its commit, when another connection can read the row', async () => {
  using folder = tempFolder()
  const { db, close } = openNotes(folder.file('stead.db'))
  const other = new Database(folder.file('stead.db'), { readonly: true })
  const seen = other.prepare('SELECT text FROM notes WHERE id = ?')
  const promises = Array.from({ length: 20 }, async (_, id) => {
    await write(db, (tx) => put(tx, { id, text: `note ${id}` }))
    expect(seen.get(id)).toEqual({ text: `note ${id}` })
  })
  expect(seen.get(0)).toBeUndefined()
  await Promise.all(promises)
  other.close()
  close()
})

test('write rejects with the error of the closure', async () => {
  const { db } = openNotes()
  const error = new AppError('conflict', 'Taken')
  expect(await rejected(write(db, () => raise(error)))).toBe(error)
})

test('write runs a closure after another one that requests it', async () => {
  const { db } = openNotes()
  const inner = await write(db, (tx) => {
    put(tx, { id: 1, text: 'outer' })
    return [write(db, (later) => readAll(later))]
  })
  expect(await inner[0]).toEqual([{ id: 1, text: 'outer' }])
})

describe('write with an asynchronous closure', () => {
  test('rejects, and rolls back what was written before the wait', async () => {
    const { db } = openNotes()
    const error = await rejected(
      write(db, async (tx) => {
        put(tx, { id: 1, text: 'too early' })
      }),
    )
    expect(error).toMatchObject({ message: expect.stringContaining('asynchronous') })
    expect(readAll(db)).toEqual([])
  })

  test('rejects when a query was built but not run, instead of running it outside the transaction', async () => {
    const { db } = openNotes()
    await rejected(write(db, (tx) => tx.insert(notes).values({ id: 1, text: 'forgotten' })))
    await nextTurn()
    expect(readAll(db)).toEqual([])
  })
})

describe('write while another process locks the file', () => {
  test('waits and succeeds in order when the lock takes 300 ms', async () => {
    using folder = tempFolder()
    const { db, close } = openNotes(folder.file('stead.db'))
    const other = holdFile(folder.file('stead.db'))
    const freed = new Promise<void>((resolve) => {
      setTimeout(() => {
        other.exec('COMMIT')
        resolve()
      }, 300)
    })
    const first = write(db, (tx) => put(tx, { id: 1, text: 'first' }))
    const second = write(db, (tx) => readAll(tx))
    await first
    expect(await second).toEqual([{ id: 1, text: 'first' }])
    await freed
    other.close()
    close()
  })

  test('rejects as unavailable when the lock takes over 2 s, and succeeds when the file is free', async () => {
    using folder = tempFolder()
    const { db, close } = openNotes(folder.file('stead.db'))
    const other = holdFile(folder.file('stead.db'))
    const startedAt = performance.now()
    const errors = await Promise.all(
      Array.from({ length: 20 }, (_, id) => id).map((id) => rejected(write(db, (tx) => put(tx, { id, text: 'late' })))),
    )
    const waitedMs = performance.now() - startedAt
    for (const error of errors) expect(error).toMatchObject({ kind: 'unavailable' })
    expect(waitedMs).toBeGreaterThan(1900)
    // All of them together, not one after the other.
    expect(waitedMs).toBeLessThan(20_000)

    other.exec('COMMIT')
    await write(db, (tx) => put(tx, { id: 3, text: 'free' }))
    expect(readAll(db)).toEqual([{ id: 3, text: 'free' }])
    other.close()
    close()
  })

  function holdFile(file: string): Database.Database {
    const other = new Database(file)
    other.exec('BEGIN IMMEDIATE')
    return other
  }
})

test('runs slow closures in several turns of the event loop, in order', async () => {
  const { db } = openNotes()
  const order: number[] = []
  const writing = Promise.all(
    Array.from({ length: 20 }, (_, id) =>
      write(db, () => {
        const endsAt = performance.now() + 5
        while (performance.now() < endsAt);
        order.push(id)
      }),
    ),
  )
  await nextTurn()
  await nextTurn()
  expect(order.length).toBeGreaterThan(0)
  expect(order.length).toBeLessThan(20)
  await writing
  expect(order).toEqual(Array.from({ length: 20 }, (_, id) => id))
})

describe('findWriteFailure', () => {
  test('returns a reason while the file is read-only, and null when a write succeeds', async () => {
    const { db, sqlite } = openNotes()
    expect(findWriteFailure(db)).toBeNull()
    sqlite.pragma('query_only = ON')
    expect(await rejected(write(db, (tx) => put(tx, { id: 1, text: 'a' })))).toMatchObject({ kind: 'unavailable' })
    expect(findWriteFailure(db)).toContain('readonly')
    sqlite.pragma('query_only = OFF')
    await write(db, (tx) => put(tx, { id: 1, text: 'a' }))
    expect(findWriteFailure(db)).toBeNull()
  })

  test('returns a reason while the disk is full, also when SQLite rolls back the batch, and none for a failing closure', async () => {
    const { db, sqlite } = openNotes()
    await rejected(write(db, () => raise(new Error('bad'))))
    expect(findWriteFailure(db)).toBeNull()
    sqlite.pragma(`max_page_count = ${Number(sqlite.pragma('page_count', { simple: true }))}`)
    await rejected(write(db, (tx) => put(tx, { id: 1, text: 'x'.repeat(100_000) })))
    expect(findWriteFailure(db)).toContain('full')
    sqlite.pragma('max_page_count = 1000')
    await write(db, (tx) => put(tx, { id: 1, text: 'x'.repeat(100_000) }))
    expect(findWriteFailure(db)).toBeNull()
  })
})

describe('write when the disk is full', () => {
  test('acknowledges no lost write when SQLite rolls back a batch, and continues with the rest', async () => {
    const { db, sqlite } = openNotes()
    await write(db, (tx) => put(tx, { id: 0, text: 'before' }))
    sqlite.pragma(`max_page_count = ${Number(sqlite.pragma('page_count', { simple: true }))}`)

    const small = settle(write(db, (tx) => put(tx, { id: 1, text: 'small' })))
    const large = settle(write(db, (tx) => put(tx, { id: 2, text: 'x'.repeat(100_000) })))
    const after = settle(write(db, (tx) => put(tx, { id: 3, text: 'after' })))
    const results = await Promise.all([small, large, after])

    const acknowledged = results.flatMap((result, index) => (result === 'done' ? [index + 1] : []))
    const stored = readAll(db).map(({ id }) => id)
    expect(stored).toEqual([0, ...acknowledged])
    expect(results[1]).toMatchObject({ kind: 'unavailable' })
    expect(results[2]).toBe('done')
  })

  test('succeeds again when space is free', async () => {
    const { db, sqlite } = openNotes()
    sqlite.pragma(`max_page_count = ${Number(sqlite.pragma('page_count', { simple: true }))}`)
    await rejected(write(db, (tx) => put(tx, { id: 1, text: 'x'.repeat(100_000) })))
    sqlite.pragma('max_page_count = 1000')
    await write(db, (tx) => put(tx, { id: 1, text: 'x'.repeat(100_000) }))
    expect(readAll(db)).toHaveLength(1)
  })

  test.skipIf(!canMount())('acknowledges only stored writes when the file system is full', async () => {
    using disk = mountSmallDisk() ?? raise(new Error('mounting worked a moment ago'))
    const { db, sqlite, close } = openNotes(disk.file('stead.db'))
    const acknowledged = new Set<number>()
    const errors: unknown[] = []
    for (let id = 0; errors.length === 0 && id < 10_000; id += 8) {
      const batch = Array.from({ length: 8 }, (_, offset) => id + offset)
      await Promise.all(
        batch.map((each) =>
          write(db, (tx) => put(tx, { id: each, text: 'x'.repeat(2000) })).then(
            () => acknowledged.add(each),
            (error) => errors.push(error),
          ),
        ),
      )
    }
    expect(errors.length).toBeGreaterThan(0)
    for (const error of errors) expect(error).toMatchObject({ kind: 'unavailable' })
    expect(new Set(readAll(db).map(({ id }) => id))).toEqual(acknowledged)
    expect(sqlite.pragma('integrity_check', { simple: true })).toBe('ok')
    close()
  })

  function canMount(): boolean {
    using disk = mountSmallDisk()
    return disk !== null
  }

  /** 4 MB of memory as a file system of its own; null where mounting is not allowed. */
  function mountSmallDisk() {
    const folder = tempFolder()
    const mount = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder.path], { stderr: 'ignore' })
    if (mount.exitCode !== 0) {
      folder[Symbol.dispose]()
      return null
    }
    return {
      ...folder,
      [Symbol.dispose]() {
        Bun.spawnSync(['umount', folder.path])
        folder[Symbol.dispose]()
      },
    }
  }
})

describe('durability of writes', () => {
  const CYCLES = 30
  test(`every acknowledged write is stored and the file is intact when 64 writers are killed ${CYCLES} times`, async () => {
    using folder = tempFolder()
    const file = folder.file('stead.db')
    openNotes(file).close()
    const acknowledged = new Set<number>()
    let firstId = 0
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      for (const id of await writeUntilKilled(file, firstId)) acknowledged.add(id)
      const connection = openDatabase(file)
      expect(connection.sqlite.pragma('integrity_check', { simple: true })).toBe('ok')
      const stored = storedIds(connection)
      expect([...acknowledged].filter((id) => !stored.has(id))).toEqual([])
      firstId = Math.max(-1, ...stored) + 1
      connection.close()
    }
    expect(acknowledged.size).toBeGreaterThan(CYCLES * 64)
  }, 300_000)

  /** Runs the writers, kills them in the middle, and returns the acknowledged rows. */
  async function writeUntilKilled(file: string, firstId: number): Promise<number[]> {
    const script = join(import.meta.dir, '../../tests/harness/programs/durable-writer.ts')
    const writers = Bun.spawn([process.execPath, script, file, String(firstId)], { stdout: 'pipe' })
    const killAfter = 64 + Math.floor(Math.random() * 2000)
    const ids: number[] = []
    for await (const line of readLines(writers.stdout)) {
      if (ids.push(Number(line)) === killAfter) writers.kill('SIGKILL')
    }
    await writers.exited
    expect(writers.signalCode).toBe('SIGKILL')
    return ids
  }

  function storedIds({ sqlite }: Connection): Set<number> {
    return new Set(sqlite.prepare<[], number>('SELECT id FROM notes').pluck().all())
  }
})

test('a row is neither found nor written when its owner is deleted concurrently', async () => {
  const { db, sqlite } = openNotes()
  sqlite.exec('CREATE TABLE lines (id INTEGER PRIMARY KEY, note INTEGER NOT NULL REFERENCES notes (id)) STRICT')
  const adding = write(db, (tx) => tx.run(sql`INSERT INTO lines (note) VALUES (7)`))
  await expect(adding).rejects.toMatchObject({ kind: 'not_found', message: 'Not found' })
  expect(sqlite.prepare('SELECT * FROM lines').all()).toEqual([])
})

test('write throws when the database was opened without a queue', () => {
  const { db } = openDatabase(':memory:')
  expect(() => write(db, () => 1)).toThrow('write queue')
})

test('write runs a closure that deletes and updates, and returns its result', async () => {
  const { db } = openNotes()
  await write(db, (tx) => put(tx, { id: 1, text: 'a' }))
  const changed = await write(db, (tx) => tx.update(notes).set({ text: 'b' }).where(eq(notes.id, 1)).returning().get())
  expect(changed).toEqual({ id: 1, text: 'b' })
  expect(await write(db, (tx) => tx.delete(notes).run().changes)).toBe(1)
})

/** Commit frames in a write-ahead log: those that name the size of the database after them. */
function countCommits(walFile: string): number {
  const log = readFileSync(walFile)
  const frameBytes = 24 + log.readUInt32BE(8)
  let commits = 0
  for (let at = 32; at + frameBytes <= log.length; at += frameBytes) {
    // Frames of an earlier turn of the log carry another salt.
    if (log.readUInt32BE(at + 8) === log.readUInt32BE(16) && log.readUInt32BE(at + 4) > 0) commits++
  }
  return commits
}

function settle(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'done',
    (error) => error,
  )
}

async function rejected(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('It should have failed')
}

function raise(error: Error): never {
  throw error
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
