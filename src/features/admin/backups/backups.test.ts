import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { write } from '../../../db/write.ts'
import { notices } from '../../accounts/notifications/tables.ts'
import { users } from '../../accounts/users/tables.ts'
import { backupsJob } from './jobs.ts'
import { listRuns, type RunStead, runBackup } from './run-backup.ts'
import { backupRuns } from './tables.ts'

const never = new AbortController().signal
const HOUR_MS = 3_600_000
const MADE = {
  ...{ file: '/b/stead-x.tar', bytes: 7, verifiedAt: '2026-11-22T12:00:00.000Z' },
  agents: [{ id: 'ada', state: 'whole', reason: null }],
}

/** A platform whose backups end as `answer` says. */
async function open(answer: () => Awaited<ReturnType<RunStead>> | Promise<Awaited<ReturnType<RunStead>>>) {
  const test = testPlatform({ environment: { BACKUP_SCHEDULE: '0 3 * * * Europe/Berlin' } })
  const { user } = await test.signIn()
  await write(test.platform.db, (tx) => tx.update(users).set({ isAdmin: true }).run())
  const calls: string[][] = []
  const deps = {
    ...test.platform.admin,
    runStead: async (args: string[]) => {
      calls.push(args)
      return answer()
    },
  }
  test.clock.set(new Date('2026-11-22T00:00:00Z'))
  const listNotifications = () => test.platform.db.select().from(notices).all()
  return { ...test, user, deps, calls, listNotifications, job: backupsJob(deps) }
}

const succeed = () => ({ exitCode: 0, stdout: JSON.stringify(MADE), stderr: '' })

test('backupsJob creates one backup when the schedule is due in its time zone', async () => {
  const { job, clock, calls, deps } = await open(succeed)
  const runs: number[] = []
  for (let hour = 0; hour < 48; hour++) {
    await job.run(never)
    runs.push(calls.length)
    clock.advance(HOUR_MS)
  }
  // 03:00 in Berlin is 02:00 UTC in winter.
  expect([runs[1], runs[2], runs[3], runs[25], runs[26], runs[47]]).toEqual([0, 1, 1, 1, 2, 2])
  expect(calls[0]).toEqual(['backup', 'run', '--json'])
  expect(listRuns(deps.db)[0]).toMatchObject({
    ...{ file: MADE.file, sizeBytes: 7, error: null, verifiedAt: new Date(MADE.verifiedAt) },
  })
})

test('backupsJob creates a backup at startup when one was due while the platform was stopped', async () => {
  const { clock, calls, deps } = await open(succeed)
  await write(deps.db, (tx) => tx.insert(backupRuns).values({ startedAt: clock.now(), finishedAt: clock.now() }).run())
  clock.advance(100 * HOUR_MS)
  await backupsJob(deps).run(never)
  await backupsJob(deps).run(never)
  expect(calls).toHaveLength(1)
})

test('backupsJob notifies administrators of a failure and retries at the next scheduled time', async () => {
  const { job, clock, calls, deps, listNotifications, user } = await open(() => ({
    ...{ exitCode: 1, stdout: '', stderr: 'stead: backup: No space left on device\n' },
  }))
  clock.advance(3 * HOUR_MS)
  await job.run(never)
  await job.run(never)
  expect(calls).toHaveLength(1)
  expect(listRuns(deps.db)).toMatchObject([{ error: 'backup: No space left on device', file: null }])
  expect(listNotifications()).toMatchObject([
    {
      ...{ userId: user.id, kind: 'backup_failed', agentId: null },
      text: 'No backup was made: backup: No space left on device. The last ones are as they were.',
    },
  ])
})

test('backupsJob notifies administrators of agents missing from a backup and of an interrupted run', async () => {
  const agents = [{ id: 'ada', state: 'missing', reason: 'it is not in the engine (docker)' }]
  const { deps, listNotifications, job } = await open(() => ({
    exitCode: 1,
    stdout: JSON.stringify({ ...MADE, agents }),
    stderr: '',
  }))
  await runBackup(deps, never)
  expect(listNotifications()[0]?.text).toContain(
    'lacks what these agents have stored: ada (it is not in the engine (docker))',
  )
  const before = new Date(deps.clock.now().getTime() - HOUR_MS)
  await write(deps.db, (tx) => tx.insert(backupRuns).values({ startedAt: before }).run())
  await write(deps.db, (tx) => tx.insert(backupRuns).values({ startedAt: deps.clock.now() }).run())
  await job.run(never)
  const [ordered, left] = listRuns(deps.db)
  expect(left).toMatchObject({ error: 'Stead ended meanwhile' })
  // An admin's order that was under way before the job looked for the first time.
  expect(ordered).toMatchObject({ error: null, finishedAt: null })
  expect(listNotifications()).toHaveLength(2)
})

test('runBackup rejects a second run with conflict while one is in progress', async () => {
  const { deps, calls } = await open(succeed)
  const both = await Promise.allSettled([runBackup(deps, never), runBackup(deps, never)])
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(calls).toHaveLength(1)
  await expect(runBackup({ ...deps, runStead: null }, never)).rejects.toMatchObject({
    extra: { code: 'NOT_CONFIGURED' },
  })
})
