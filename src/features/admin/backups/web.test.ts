import { expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { write } from '../../../db/write.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { users } from '../../accounts/users/tables.ts'
import { backupsJob, backupTaskJob } from './jobs.ts'
import type { RunStead } from './run-backup.ts'
import { BackupOrdered, BackupOverview } from './schemas.ts'
import { backupRuns } from './tables.ts'

const NAME = 'stead-2026-11-22T14-00-00-000Z.tar'
const SEALED = 'stead-2026-11-23T14-00-00-000Z.abc.tar.age'
const never = new AbortController().signal
const WORDS: Record<string, string> = {
  run: JSON.stringify({ file: `/b/${NAME}`, bytes: 5, verifiedAt: '2026-11-22T14:00:01.000Z', agents: [] }),
  verify: JSON.stringify({ problems: [], manifest: { createdAt: '', agents: [{}] } }),
  drill: JSON.stringify({ problems: ['ada-1: its files were not restored'], agents: 1, seconds: 2 }),
  restore: JSON.stringify({
    ...{ agent: { id: 'ada-1', name: 'Ada', state: 'whole' }, createdAt: '2026-11-22', rows: [{ brought: 2 }] },
    missing: [],
  }),
}

/** Signs in an administrator of a platform with two backups and records the arguments of child processes. */
async function openAdmin() {
  const test = testPlatform({ runStead: ((args, signal) => run(args, signal)) as RunStead })
  const calls: string[][] = []
  const run: RunStead = async (args) => {
    calls.push(args)
    return { exitCode: 0, stdout: WORDS[args[1] ?? ''] ?? '', stderr: '' }
  }
  const { to } = test.platform.admin.backupPlace
  mkdirSync(to, { recursive: true })
  writeFileSync(join(to, NAME), 'plain')
  writeFileSync(join(to, SEALED), 'age-encryption.org/v1\nsealed')
  writeFileSync(join(to, 'notes.txt'), 'no backup')
  const { cookie, user } = await test.signIn()
  await write(test.platform.db, (tx) => tx.update(users).set({ isAdmin: true }).run())
  const ask = (path: string, body?: unknown) =>
    test.web.request(`/api/admin/backups${path}`, body === undefined ? { headers: cookie } : json('POST', body, cookie))
  return { ...test, user, calls, ask, to, overview: () => read(BackupOverview, ask('')) }
}

test('GET /api/admin/backups: 200 with the backups newest first, 503 when the location cannot be read', async () => {
  const { overview, to, ask } = await openAdmin()
  expect(await overview()).toMatchObject({
    ...{ to, keep: { days: 7, weeks: 4, months: 6 }, isSealed: false, schedule: null, lastVerifiedAt: null, runs: [] },
    backups: [
      { name: SEALED, isSealed: true, createdAt: '2026-11-23T14:00:00.000Z' },
      { name: NAME, isSealed: false, sizeBytes: 5 },
    ],
  })
  const file = testPlatform({ environment: { BACKUP_TO: join(to, NAME, 'inside') } })
  const { cookie } = await file.signIn()
  await write(file.platform.db, (tx) => tx.update(users).set({ isAdmin: true }).run())
  expect((await file.web.request('/api/admin/backups', { headers: cookie })).status).toBe(503)
  expect((await ask('/nothing.tar/download')).status).toBe(404)
})

test('POST /api/admin/backups, /api/admin/backups/:name/verify, /api/admin/backups/:name/drill and /api/admin/backups/:name/restore: 202, performed once, in the overview and the audit log', async () => {
  const { ask, calls, platform, overview, user, to } = await openAdmin()
  await using _jobs = startJobs(platform)
  const orders: [string, unknown][] = [
    ['', {}],
    [`/${NAME}/verify`, {}],
    [`/${NAME}/drill`, {}],
    [`/${NAME}/restore`, { agentId: 'ada-1', replace: true }],
  ]
  for (const [path, body] of orders) {
    const response = await ask(path, body)
    expect(response.status).toBe(202)
    const { run } = BackupOrdered.parse(await response.json())
    await until('the run is over', async () => (await overview()).runs.find(({ id }) => id === run.id)?.finishedAt)
  }
  const file = join(to, NAME)
  expect(calls).toEqual([
    ['backup', 'run', '--json'],
    ['backup', 'verify', file, '--json'],
    ['backup', 'drill', file, '--json'],
    ['backup', 'restore', file, '--agent', 'ada-1', '--replace', '--json'],
  ])
  const { runs, lastVerifiedAt, lastDrilledAt } = await overview()
  expect(runs.map(({ kind, error, outcome }) => [kind, error, outcome])).toEqual([
    ['restore', null, 'ada-1 (Ada) is as it was at 2026-11-22, and stopped: 2 rows'],
    ['drill', 'ada-1: its files were not restored', null],
    ['verify', null, '1 agent, found whole'],
    ['backup', null, '0 agents, found whole'],
  ])
  expect([lastVerifiedAt !== null, lastDrilledAt]).toEqual([true, null])
  const entries = platform.db.select().from(auditLog).all()
  expect(entries.map(({ actor, action, target }) => [actor, action, target])).toEqual([
    [user.id, 'backup.backup', 'new'],
    [user.id, 'backup.verify', file],
    [user.id, 'backup.drill', file],
    [user.id, 'backup.restore', file],
  ])
})

test('POST /api/admin/backups/:name/verify, /api/admin/backups/:name/drill and /api/admin/backups/:name/restore: 404 when the name is unknown, 409 during another run, 400 without an agent', async () => {
  const { ask, platform, clock, calls } = await openAdmin()
  const outside = encodeURIComponent('../stead.db')
  for (const name of ['nothing.tar', 'notes.txt', outside]) {
    for (const what of ['verify', 'drill']) expect((await ask(`/${name}/${what}`, {})).status).toBe(404)
    expect((await ask(`/${name}/restore`, { agentId: 'ada-1' })).status).toBe(404)
    expect((await ask(`/${name}/download`)).status).toBe(404)
  }
  expect((await ask(`/${NAME}/restore`, {})).status).toBe(400)
  await write(platform.db, (tx) => tx.insert(backupRuns).values({ startedAt: clock.now() }).run())
  expect((await ask('', {})).status).toBe(409)
  expect((await ask(`/${NAME}/drill`, {})).status).toBe(409)
  expect(calls).toEqual([])
})

test('GET /api/admin/backups/:name/download: 200 with the stored file, still encrypted, and an audit entry', async () => {
  const { ask, platform, user } = await openAdmin()
  const response = await ask(`/${SEALED}/download`)
  expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${SEALED}"`)
  expect(response.headers.get('content-length')).toBe('28')
  expect(await response.text()).toBe('age-encryption.org/v1\nsealed')
  expect(platform.db.select().from(auditLog).all()).toMatchObject([
    { actor: user.id, action: 'backup.download', target: SEALED },
  ])
})

test('BACKUP_DRILL_SCHEDULE tests the newest backup, notifies administrators of a failure, and repeats no interrupted run', async () => {
  const { platform, clock, calls, to } = await openAdmin()
  clock.set(new Date('2026-11-22T00:00:00Z'))
  const deps = { ...platform.admin, drillSchedule: { cron: '0 5 * * *', timeZone: 'UTC' } }
  const job = backupsJob(deps)
  await job.run(never)
  clock.advance(6 * 3_600_000)
  await job.run(never)
  await job.run(never)
  expect(calls).toEqual([['backup', 'drill', join(to, SEALED), '--json']])
  const [row] = await write(platform.db, (tx) =>
    tx.update(backupRuns).set({ finishedAt: clock.now() }).returning().all(),
  )
  await backupTaskJob(deps).run({ id: row?.id, task: { kind: 'backup' } }, never)
  expect(calls).toHaveLength(1)
})
