import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestOptions, testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { backupsJob } from './jobs.ts'
import { BackupOverview } from './schemas.ts'

const NAME = 'stead-2026-11-22T14-00-00-000Z.tar'

async function openAdmin(options: TestOptions = {}) {
  const test = testPlatform({
    ...options,
    environment: { ADMIN_EMAILS: 'root@example.com', ...options.environment },
  })
  const { cookie } = await test.signIn('root@example.com')
  const put = (body: unknown, headers: Record<string, string> = cookie) =>
    test.web.request('/api/admin/backups', json('PUT', body, headers))
  return { ...test, put, set: (body: unknown) => read(BackupOverview, put(body)) }
}

test('PUT /api/admin/backups: 200 and the next backup uses the new schedule, location and retention', async () => {
  using folder = tempFolder()
  const to = folder.file('elsewhere')
  const calls: [string[], Record<string, string> | undefined][] = []
  const { set, platform, clock } = await openAdmin({
    runStead: async (args, _signal, settings) => {
      calls.push([args, settings])
      return { exitCode: 0, stdout: '', stderr: 'no' }
    },
  })
  const job = backupsJob({ ...platform.admin, clock })
  const signal = new AbortController().signal
  const schedule = '0 3 * * * Europe/Berlin'
  expect(await set({ schedule, to, keep: '3d 2m' })).toMatchObject({
    schedule: { cron: '0 3 * * *', timeZone: 'Europe/Berlin', nextAt: expect.any(String) },
    to,
    keep: { days: 3, weeks: 0, months: 2 },
    fixed: { schedule: false, to: false, keep: false },
    backups: [],
  })
  expect(readdirSync(to)).toEqual([])
  writeFileSync(join(to, NAME), 'a backup')
  const { backups } = await set({ keep: { days: 5, weeks: 1, months: 0 } })
  expect(backups).toMatchObject([
    { name: NAME, restoreCommand: expect.stringContaining(`stead backup restore ${join(to, NAME)} --data-dir /`) },
  ])
  await job.run(signal)
  expect(calls).toEqual([])
  clock.advance(86_400_000)
  await job.run(signal)
  const settings = { BACKUP_SCHEDULE: schedule, BACKUP_TO: to, BACKUP_KEEP: '5d 1w 0m' }
  expect(calls).toEqual([[['backup', 'run', '--json'], settings]])
  expect(await set({ schedule: null, to: null, keep: null })).toMatchObject({
    schedule: null,
    to: platform.admin.backupPlace.to,
    keep: { days: 7, weeks: 4, months: 6 },
  })
  expect(platform.db.select().from(auditLog).all()).toContainEqual(
    expect.objectContaining({ action: 'backup.settings', detail: { schedule, to, keep: '3d 2m' } }),
  )
})

test('PUT /api/admin/backups: 409 SET_BY_ENVIRONMENT for fields set in the environment; other fields can be changed', async () => {
  const { put, set } = await openAdmin({ environment: { BACKUP_SCHEDULE: '0 4 * * *' } })
  const response = await put({ schedule: '0 3 * * *' })
  expect([response.status, await response.json()]).toEqual([
    409,
    { error: 'BACKUP_SCHEDULE is set in the environment: change it there', code: 'SET_BY_ENVIRONMENT' },
  ])
  expect(await set({ keep: '2w' })).toMatchObject({
    schedule: { cron: '0 4 * * *' },
    keep: { days: 0, weeks: 2, months: 0 },
    fixed: { schedule: true, to: false, keep: false },
  })
})

test.each<[unknown, string]>([
  [{ schedule: 'daily' }, 'schedule must be five cron fields and a time zone'],
  [{ schedule: '0 3 * * * Mars/Base' }, 'schedule must be five cron fields and a time zone'],
  [{ keep: '0d' }, 'keep must say how many days, weeks and months'],
  [{ keep: { days: 0, weeks: 0, months: 0 } }, 'keep must say how many days, weeks and months'],
  [{ to: 'backups' }, 'to must be the whole path of a folder'],
  [{ to: 'ftp://host/backups' }, 'to must be the whole path of a folder'],
  [{ to: 's3://bucket/prefix' }, 'S3_ACCESS_KEY_ID'],
])('PUT /api/admin/backups: 400 when the body is %j, and nothing changes', async (body, error) => {
  const { put, set } = await openAdmin()
  const response = await put(body)
  expect([response.status, await response.json()]).toEqual([400, { error: expect.stringContaining(error) }])
  expect(await set({})).toMatchObject({ schedule: null, keep: { days: 7 } })
})

test('PUT /api/admin/backups: 400 with the reason when the location is not writable', async () => {
  using folder = tempFolder()
  mkdirSync(folder.file('data'))
  writeFileSync(folder.file('file'), 'no folder')
  const { put, platform } = await openAdmin()
  const to = folder.file('file/backups')
  const response = await put({ to })
  expect([response.status, await response.json()]).toEqual([
    400,
    { error: expect.stringMatching(/^Backups cannot be written to .*ENOTDIR/) },
  ])
  expect(platform.admin.backupPlan.read().to).toBe(platform.admin.backupPlace.to)
  expect(existsSync(to)).toBeFalse()
})

test('PUT /api/admin/backups: 401 without a session, 403 for a user who is not an administrator', async () => {
  const { put, signIn } = await openAdmin()
  expect((await put({ keep: '3d' }, {})).status).toBe(401)
  expect((await put({ keep: '3d' }, (await signIn('ada@example.com')).cookie)).status).toBe(403)
})
