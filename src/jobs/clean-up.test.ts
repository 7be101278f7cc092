import { expect, test } from 'bun:test'
import { testPlatform } from '../../tests/harness/platform.ts'
import { addDays } from '../core/clock.ts'
import { write } from '../db/write.ts'
import { cleanUpJob } from './clean-up.ts'
import { jobs } from './tables.ts'

const signal = new AbortController().signal

test('cleanUpJob deletes jobs that ended a day ago or failed a month ago, and no pending job', async () => {
  const { platform, clock } = testPlatform()
  const daysAgo = (days: number) => addDays(clock.now(), -days)
  const job = (id: string, status: (typeof jobs.$inferInsert)['status'], days: number) => {
    const finishedAt = status === 'done' || status === 'dead' ? daysAgo(days) : null
    return { id, status, kind: 'test', payload: {}, runAt: daysAgo(days), createdAt: daysAgo(days), finishedAt }
  }
  const rows = [
    job('done new', 'done', 0.9),
    job('done old', 'done', 1),
    job('dead new', 'dead', 29),
    job('dead old', 'dead', 30),
    job('queued old', 'queued', 400),
    job('running old', 'running', 400),
  ]
  await write(platform.db, (tx) => tx.insert(jobs).values(rows).run())
  await cleanUpJob(platform).run(signal)
  const left = platform.db.select({ id: jobs.id }).from(jobs).all()
  expect(left.map(({ id }) => id).sort()).toEqual(['dead new', 'done new', 'queued old', 'running old'])
})

test('cleanUpJob continues until no expired job is left', async () => {
  const { platform, clock } = testPlatform()
  const old = addDays(clock.now(), -2)
  const done = { kind: 'test', payload: {}, status: 'done', runAt: old, createdAt: old, finishedAt: old } as const
  await write(platform.db, (tx) => {
    for (let n = 0; n < 1201; n++)
      tx.insert(jobs)
        .values({ ...done, id: `job_${n}` })
        .run()
  })
  await cleanUpJob(platform).run(signal)
  expect(platform.db.select().from(jobs).all()).toEqual([])
})
