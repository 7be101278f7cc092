import { describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { settableClock } from '../../tests/harness/clock.ts'
import { openTestDatabase } from '../../tests/harness/database.ts'
import { capturedLog } from '../../tests/harness/log.ts'
import { write } from '../db/write.ts'
import { createJobQueue, defineJob, freeLeases, type JobKind } from './queue.ts'
import { jobs } from './tables.ts'

const Payload = z.object({ n: z.number() })
type Payload = z.infer<typeof Payload>

describe('a job', () => {
  test('runs once with the payload of the closure that committed it', async () => {
    const { db, queue, finished } = testQueue()
    const ran = Promise.withResolvers<Payload>()
    queue.start([kind({ run: async (payload) => ran.resolve(payload) })])
    await write(db, (tx) => queue.enqueue(tx, 'test', { n: 7 }))
    expect(await ran.promise).toEqual({ n: 7 })
    expect(await finished()).toMatchObject([{ status: 'done', attempts: 1, lastError: null, leaseToken: null }])
    await queue.stop()
  })

  test('does not run when its closure rolls back', async () => {
    const { db, queue, rows, finished } = testQueue()
    const ran: number[] = []
    queue.start([kind({ run: async ({ n }) => void ran.push(n) })])
    await write(db, (tx) => {
      queue.enqueue(tx, 'test', { n: 1 })
      throw new Error('no')
    }).catch(() => undefined)
    await write(db, (tx) => queue.enqueue(tx, 'test', { n: 2 }))
    await finished()
    expect(ran).toEqual([2])
    expect(rows()).toHaveLength(1)
    await queue.stop()
  })

  test('runs when it was written before the queue started', async () => {
    const { db, queue, finished } = testQueue()
    await write(db, (tx) => queue.enqueue(tx, 'test', { n: 1 }))
    queue.start([kind({})])
    expect(await finished()).toMatchObject([{ status: 'done' }])
    await queue.stop()
  })

  test('runs once, with at most seven others, when there are many', async () => {
    const { db, queue, finished } = testQueue()
    const ran: number[] = []
    const gate = Promise.withResolvers<void>()
    const run = async ({ n }: Payload) => {
      ran.push(n)
      await gate.promise
    }
    queue.start([kind({ run })])
    await Promise.all(Array.from({ length: 60 }, (_, n) => write(db, (tx) => queue.enqueue(tx, 'test', { n }))))
    await until(() => ran.length >= 8)
    wake(queue, db)
    await nextPoll()
    expect(ran).toHaveLength(8)
    gate.resolve()
    await finished()
    expect(ran.sort((left, right) => left - right)).toEqual(Array.from({ length: 60 }, (_, n) => n))
    await queue.stop()
  })
})

test('runs at once when it is quick and seven slow ones of another kind run', async () => {
  const { db, queue, finished } = testQueue()
  const gate = Promise.withResolvers<void>()
  let slow = 0
  let quick = 0
  const wait = async () => {
    slow++
    await gate.promise
  }
  queue.start([kind({ kind: 'slow', isSlow: true, run: wait }), kind({ run: async () => void quick++ })])
  await write(db, (tx) => {
    for (let n = 0; n < 20; n++) queue.enqueue(tx, 'slow', { n })
    for (let n = 0; n < 20; n++) queue.enqueue(tx, 'test', { n })
  })
  await until(() => quick === 20)
  expect(slow).toBe(8)
  gate.resolve()
  await finished()
  expect(slow).toBe(20)
  await queue.stop()
})

test('of one share uses at most eight places of slow jobs, and others run besides', async () => {
  const { db, queue, finished } = testQueue()
  const gate = Promise.withResolvers<void>()
  const begun: number[] = []
  const run = async ({ n }: Payload) => {
    begun.push(n)
    await gate.promise
  }
  queue.start([kind({ kind: 'slow', isSlow: true, run })])
  await write(db, (tx) => {
    for (let n = 0; n < 300; n++) queue.enqueue(tx, 'slow', { n }, { share: 'eve' })
    for (let n = 1000; n < 1003; n++) queue.enqueue(tx, 'slow', { n }, { share: 'ada' })
    queue.enqueue(tx, 'slow', { n: 2000 })
  })
  await until(() => begun.length === 12)
  expect(begun.toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 1000, 1001, 1002, 2000])
  gate.resolve()
  await finished()
  expect(begun).toHaveLength(304)
  await queue.stop()
})

test('is not delayed by jobs that are added constantly', async () => {
  const { db, queue } = testQueue()
  let ran = 0
  queue.start([kind({ run: async () => void ran++ })])
  let came = 0
  // Closer together than the shortest timer.
  for (; ran < 100 && came < 1000; came++) {
    await write(db, (tx) => queue.enqueue(tx, 'test', { n: came }))
  }
  expect(ran).toBeGreaterThanOrEqual(100)
  expect(came).toBeLessThan(1000)
  await queue.stop()
})

describe('a key of jobs', () => {
  test('makes one job of two that wait, and one more while the first runs, which runs after it', async () => {
    const { db, queue, rows, finished } = testQueue()
    const enqueue = (n: number) => write(db, (tx) => queue.enqueue(tx, 'test', { n }, { key: 'agent-1' }))
    await enqueue(1)
    await enqueue(2)
    expect(rows()).toMatchObject([{ payload: { n: 1 } }])

    const order: string[] = []
    const started = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const run = async ({ n }: Payload) => {
      order.push(`begin ${n}`)
      started.resolve()
      await release.promise
      order.push(`end ${n}`)
    }
    queue.start([kind({ run })])
    await started.promise
    await enqueue(3)
    await enqueue(4)
    await nextPoll()
    release.resolve()
    await finished()
    expect(order).toEqual(['begin 1', 'end 1', 'begin 3', 'end 3'])
    await queue.stop()
  })

  test('makes a waiting job replace the next attempt of a failed one', async () => {
    const { db, queue, rows, finished } = testQueue()
    const enqueue = (n: number) => write(db, (tx) => queue.enqueue(tx, 'test', { n }, { key: 'agent-1' }))
    const started = Promise.withResolvers<void>()
    const fail = Promise.withResolvers<void>()
    const run = async ({ n }: Payload) => {
      if (n !== 1) return
      started.resolve()
      await fail.promise
    }
    queue.start([kind({ run })])
    await enqueue(1)
    await started.promise
    await enqueue(2)
    fail.reject(new Error('ended by the second'))
    await finished()
    expect(rows()).toMatchObject([
      { status: 'done', attempts: 1, lastError: 'ended by the second' },
      { status: 'done', attempts: 1, lastError: null },
    ])
    await queue.stop()
  })

  test('is free when its job is done or dead', async () => {
    const { db, queue, rows, finished } = testQueue()
    const enqueue = (n: number) => write(db, (tx) => queue.enqueue(tx, 'test', { n }, { key: 'agent-1' }))
    const run = async ({ n }: Payload) => {
      if (n === 2) throw new Error('dies')
    }
    queue.start([kind({ maxAttempts: 1, run })])
    for (const n of [1, 2, 3]) {
      await enqueue(n)
      await finished()
    }
    expect(rows().map(({ status }) => status)).toEqual(['done', 'dead', 'done'])
    await queue.stop()
  })
})

describe('a failing job', () => {
  test('is retried after 1 s, 2 s, 4 s … up to five minutes', async () => {
    const { db, queue, clock, rows } = testQueue()
    const failures = turnstile()
    const run = async () => {
      failures.pass()
      throw new Error('not yet')
    }
    queue.start([kind({ maxAttempts: 12, run })])
    await write(db, (tx) => queue.enqueue(tx, 'test', { n: 1 }))
    const pausesSeconds: number[] = []
    for (let attempt = 1; attempt <= 11; attempt++) {
      await failures.passed(attempt)
      await until(() => rows()[0]?.status === 'queued')
      const pauseMs = (rows()[0]?.runAt.getTime() ?? 0) - clock.now().getTime()
      pausesSeconds.push(pauseMs / 1000)
      clock.advance(pauseMs - 1)
      wake(queue, db)
      await nextPoll()
      expect(failures.count()).toBe(attempt)
      clock.advance(1)
      wake(queue, db)
    }
    expect(pausesSeconds).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
    await queue.stop()
  })

  test('is dead after the last attempt, keeps its error, and onDead is called once', async () => {
    const { db, queue, clock, rows } = testQueue()
    const dead: unknown[] = []
    const failures = turnstile()
    queue.start([
      kind({
        maxAttempts: 3,
        run: async () => {
          failures.pass()
          throw new Error('never')
        },
        onDead: async (payload, error) => void dead.push([payload, error]),
      }),
    ])
    await write(db, (tx) => queue.enqueue(tx, 'test', { n: 5 }))
    for (let attempt = 1; attempt < 3; attempt++) {
      await failures.passed(attempt)
      await until(() => rows()[0]?.status === 'queued')
      clock.advance(300_000)
      wake(queue, db)
    }
    await until(() => dead.length > 0)
    expect(rows().filter(({ kind }) => kind === 'test')).toMatchObject([
      { status: 'dead', attempts: 3, lastError: 'never' },
    ])
    clock.advance(3_600_000)
    wake(queue, db)
    await nextPoll()
    expect(failures.count()).toBe(3)
    expect(dead).toEqual([[{ n: 5 }, new Error('never')]])
    await queue.stop()
  })

  test('is one with an invalid payload, or of a kind without a handler', async () => {
    const { db, queue, rows } = testQueue()
    queue.start([kind({ maxAttempts: 1 })])
    await write(db, (tx) => {
      queue.enqueue(tx, 'test', { n: 'seven' })
      queue.enqueue(tx, 'unheard of', { n: 1 })
    })
    await until(() => rows().every(({ lastError }) => lastError !== null))
    expect(rows()).toMatchObject([
      { status: 'dead' },
      { status: 'queued', lastError: expect.stringContaining('unheard of') },
    ])
    await queue.stop()
  })
})

describe('a job of a process that died', () => {
  test('is taken over when its lease expires, not before', async () => {
    const { db, queue, clock } = testQueue()
    const crashed = testQueue(db)
    const neverEnds = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const crash = () => {
      begun.resolve()
      return neverEnds.promise
    }
    crashed.queue.start([kind({ run: crash })])
    await write(db, (tx) => crashed.queue.enqueue(tx, 'test', { n: 1 }))
    await begun.promise

    const ran = Promise.withResolvers<Payload>()
    let isTakenOver = false
    const run = async (payload: Payload) => {
      isTakenOver = true
      ran.resolve(payload)
    }
    clock.advance(59_999)
    queue.start([kind({ run })])
    await nextPoll()
    expect(isTakenOver).toBe(false)
    clock.advance(1)
    wake(queue, db)
    expect(await ran.promise).toEqual({ n: 1 })
    await until(() => testJob(db)?.status === 'done')

    neverEnds.reject(new Error('the one that was thought dead fails late'))
    await crashed.queue.stop()
    expect(testJob(db)).toMatchObject({ status: 'done', attempts: 2, lastError: null })
    await queue.stop()
  })

  test('is due at once after freeLeases', async () => {
    const { db, queue, clock, finished } = testQueue()
    const crashed = testQueue(db)
    const begun = Promise.withResolvers<void>()
    const crash = () => {
      begun.resolve()
      return new Promise<void>(() => undefined)
    }
    crashed.queue.start([kind({ run: crash })])
    await write(db, (tx) => crashed.queue.enqueue(tx, 'test', { n: 1 }))
    await begun.promise
    await freeLeases(db, clock)
    queue.start([kind({})])
    expect(await finished()).toMatchObject([{ status: 'done', attempts: 2 }])
    await queue.stop()
  })

  test('is dead without another run when it ends its process on every attempt', async () => {
    const { db, queue, clock, rows } = testQueue()
    await write(db, (tx) => {
      queue.enqueue(tx, 'test', { n: 1 })
      tx.update(jobs).set({ status: 'running', attempts: 3, leaseToken: 'lost', leaseUntil: clock.now() }).run()
    })
    let hasRun = false
    const dead = Promise.withResolvers<Payload>()
    queue.start([
      kind({
        maxAttempts: 3,
        run: async () => {
          hasRun = true
        },
        onDead: async (payload) => dead.resolve(payload),
      }),
    ])
    expect(await dead.promise).toEqual({ n: 1 })
    expect(hasRun).toBe(false)
    expect(rows()).toMatchObject([{ status: 'dead', lastError: expect.stringContaining('process ended') }])
    await queue.stop()
  })
})

describe('stop of the queue', () => {
  test('aborts and awaits running jobs and starts no other', async () => {
    const { db, queue, rows } = testQueue()
    const begun = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const ran: number[] = []
    const run = async ({ n }: Payload, signal: AbortSignal) => {
      ran.push(n)
      begun.resolve()
      await release.promise
      expect(signal.aborted).toBe(true)
    }
    queue.start([kind({ run })])
    await write(db, (tx) => queue.enqueue(tx, 'test', { n: 1 }))
    await begun.promise
    let hasStopped = false
    const stopped = queue.stop().then(() => {
      hasStopped = true
    })
    await write(db, (tx) => queue.enqueue(tx, 'test', { n: 2 }))
    await nextPoll()
    expect(hasStopped).toBe(false)
    release.resolve()
    await stopped
    expect(ran).toEqual([1])
    expect(rows().map(({ status }) => status)).toEqual(['done', 'queued'])
  })

  test('makes an interrupted job due again without counting the attempt', async () => {
    const { db, queue, rows } = testQueue()
    const begun = Promise.withResolvers<void>()
    const run = (_payload: Payload, signal: AbortSignal) =>
      new Promise<void>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        begun.resolve()
      })
    queue.start([kind({ maxAttempts: 1, run })])
    await write(db, (tx) => queue.enqueue(tx, 'test', { n: 1 }))
    await begun.promise
    await queue.stop()
    expect(rows()).toMatchObject([{ status: 'queued', attempts: 0, leaseToken: null, lastError: null }])
  })

  test('leaves no job running, also when it comes while jobs are leased', async () => {
    for (let round = 0; round < 20; round++) {
      const { db, queue } = testQueue()
      let active = 0
      const run = async () => {
        active++
        await new Promise((resolve) => setImmediate(resolve))
        active--
      }
      queue.start([kind({ run })])
      await write(db, (tx) => queue.enqueue(tx, 'test', { n: 1 }))
      for (let turn = 0; turn < round % 5; turn++) await new Promise((resolve) => setTimeout(resolve))
      await queue.stop()
      expect(active).toBe(0)
      const statuses = db.select().from(jobs).all()
      await nextPoll()
      expect(db.select().from(jobs).all()).toEqual(statuses)
    }
  })
})

type TestDb = ReturnType<typeof openTestDb>

const openTestDb = () => openTestDatabase().db

/** A queue on a database of its own, or a second one on `db`, as another process would have. */
function testQueue(db: TestDb = openTestDb()) {
  const clock = settableClock()
  const { log } = capturedLog()
  const rows = () => db.select().from(jobs).orderBy(jobs.createdAt, jobs.kind).all()
  return {
    db,
    clock,
    rows,
    queue: createJobQueue({ db, clock, log }),
    /** The rows once none of them waits or runs. */
    async finished() {
      await until(() => rows().every(({ status }) => status === 'done' || status === 'dead'))
      return rows()
    },
  }
}

function kind(options: Partial<Parameters<typeof defineJob<Payload>>[0]>): JobKind {
  return defineJob({ kind: 'test', payload: Payload, run: async () => undefined, ...options })
}

/** Makes the queue of `db` look at once, as any enqueued job does. */
function wake(queue: ReturnType<typeof createJobQueue>, db: TestDb): void {
  void write(db, (tx) => {
    queue.enqueue(tx, 'nudge', {}, { key: 'nudge' })
    tx.delete(jobs).where(eq(jobs.kind, 'nudge')).run()
  })
}

/** Long enough for a queue that was woken to look and lease; for proving that it found nothing. */
async function nextPoll(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 1))
}

function testJob(db: TestDb) {
  return db.select().from(jobs).where(eq(jobs.kind, 'test')).get()
}

/** Counts what passes. */
function turnstile() {
  let passes = 0
  return {
    pass: () => void passes++,
    count: () => passes,
    passed: (wanted: number) => until(() => passes >= wanted),
  }
}
