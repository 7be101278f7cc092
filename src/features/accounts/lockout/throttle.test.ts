import { expect, test } from 'bun:test'
import { migrations } from '../../../../migrations/list.ts'
import { settableClock } from '../../../../tests/harness/clock.ts'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { migrate } from '../../../db/migrate.ts'
import { openDatabase } from '../../../db/open.ts'
import { openWriteQueue, write } from '../../../db/write.ts'
import { throttles } from '../users/tables.ts'
import { deleteOldThrottles, forgetFailures, returnAttempt, takeAttempt } from './throttle.ts'

const RULE = { limit: 3, windowMs: 60_000 }
const A = { key: 'a', ...RULE }
const B = { key: 'b', ...RULE }

/** Counters in a file, which another start may open again. */
function openCounters(file: string, clock = settableClock()) {
  const connection = openDatabase(file)
  migrate(connection.sqlite, migrations, { backupDir: `${file}-backups` })
  openWriteQueue(connection)
  const deps = { db: connection.db, clock }
  return {
    deps,
    clock,
    take: (...taken: (typeof A)[]) => takeAttempt(deps, ...taken),
    counts: () =>
      Object.fromEntries(
        deps.db
          .select()
          .from(throttles)
          .all()
          .map(({ key, count }) => [key, count]),
      ),
    [Symbol.dispose]: () => connection.close(),
  }
}

test('throttle refuses attempts beyond the limit until the window of the first one ends', async () => {
  using counters = openCounters(':memory:')
  const { take, clock } = counters
  for (let n = 0; n < 3; n++) await take(A)
  clock.advance(59_000)
  await expect(take(A)).rejects.toMatchObject({ kind: 'limited', extra: { retryAfter: '1' } })
  await take(B)
  clock.advance(1000)
  await take(A)
})

test('throttle accepts three of a thousand concurrent attempts when the limit is three', async () => {
  using counters = openCounters(':memory:')
  const all = await Promise.allSettled(Array.from({ length: 1000 }, () => counters.take(A)))
  expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
})

test('throttle counts an attempt in no counter when one of them refuses it', async () => {
  using counters = openCounters(':memory:')
  for (let n = 0; n < 3; n++) await counters.take(A)
  await expect(counters.take(B, A)).rejects.toMatchObject({ kind: 'limited' })
  expect(counters.counts()).toEqual({ a: 3 })
})

test('throttle accepts returned attempts again, and never more than were returned', async () => {
  using counters = openCounters(':memory:')
  const { take, deps, counts } = counters
  await take(A)
  for (let n = 0; n < 5; n++) await write(deps.db, (tx) => returnAttempt(tx, A, B))
  expect(counts()).toEqual({ a: 0 })
  for (let n = 0; n < 3; n++) await take(A)
  await write(deps.db, (tx) => forgetFailures(tx, A.key))
  await take(A)
  expect(counts()).toEqual({ a: 1 })
})

test('throttle keeps its counters when the process restarts', async () => {
  using folder = tempFolder()
  const clock = settableClock()
  {
    using counters = openCounters(folder.file('stead.db'), clock)
    for (let n = 0; n < 3; n++) await counters.take(A)
  }
  using counters = openCounters(folder.file('stead.db'), clock)
  await expect(counters.take(A)).rejects.toMatchObject({ kind: 'limited', extra: { retryAfter: '60' } })
})

test('the cleanup job deletes only counters whose window has ended', async () => {
  using counters = openCounters(':memory:')
  const { take, clock, deps, counts } = counters
  await take(A)
  clock.advance(30_000)
  await take(B)
  clock.advance(30_000)
  await deleteOldThrottles(deps.db, clock)
  expect(counts()).toEqual({ b: 1 })
})
