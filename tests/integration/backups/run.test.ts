import { expect, onTestFinished, test } from 'bun:test'
import { cpSync, mkdirSync, readdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/core/clock.ts'
import { createBackup } from '../../../src/server/backups/create.ts'
import { type RunConfig, runBackup } from '../../../src/server/backups/run.ts'
import { sweepBackups } from '../../../src/server/backups/staging.ts'
import { listBackups, verifyBackup } from '../../../src/server/backups/verify.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { STEAD } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { fillInstallation } from './installation.ts'

const KILLS = roundsOf('BACKUP_KILLS', 4)
const DAY_MS = 86_400_000
const NOW = new Date('2026-11-22T12:00:00Z')
const at = (days: number) => ({ now: () => new Date(NOW.getTime() + days * DAY_MS) })

async function openScheduled(keep = { days: 2, weeks: 0, months: 0 }) {
  const folder = tempFolder()
  onTestFinished(() => folder[Symbol.dispose]())
  const installation = await fillInstallation(folder.file('data'))
  const to = folder.file('to')
  const config: RunConfig = {
    ...installation,
    backups: { schedule: undefined, drillSchedule: undefined, keep, to, passphrase: undefined, s3: null },
    minFreeDiskBytes: 0,
  }
  const list = () => readdirSync(to).sort()
  return { folder, config, to, list, run: (days: number) => runBackup({ config, clock: at(days) }) }
}

test('a run creates a backup, verifies it, and then deletes expired ones; other files stay', async () => {
  const { run, list, to, folder, config } = await openScheduled()
  const first = await run(0)
  expect(first).toMatchObject({ removed: [], verifiedAt: NOW.toISOString() })
  cpSync(first.file, join(to, 'before-the-move.tar'))
  writeFileSync(join(to, 'stead-2020-01-01T00-00-00-000Z.tar'), 'of somebody')
  const other = await fillInstallation(folder.file('other'))
  writeFileSync(join(other.dataDir, 'instance.id'), 'zyxwvutsrqpo')
  const foreign = await createBackup({ config: other, clock: at(-9) }, to)
  await run(1)
  const third = await run(2)
  expect(third.removed).toEqual([first.file])
  expect(list()).toEqual(
    [
      ...['before-the-move.tar', 'stead-2020-01-01T00-00-00-000Z.tar', foreign.file.slice(to.length + 1)],
      ...['stead-2026-11-23T12-00-00-000Z.tar', 'stead-2026-11-24T12-00-00-000Z.tar'],
    ].sort(),
  )
  expect(config.backups.to).toBe(to)
})

test('a run deletes nothing when the backup fails: a damaged installation, a disk below its reserve', async () => {
  const { run, list, config } = await openScheduled({ days: 1, weeks: 0, months: 0 })
  await run(0)
  const before = list()
  const full = { ...config, minFreeDiskBytes: Number.MAX_SAFE_INTEGER }
  await expect(runBackup({ config: full, clock: at(1) })).rejects.toThrow('MIN_FREE_DISK_MB stays free')
  renameSync(join(config.dataDir, 'encryption.key'), join(config.dataDir, 'moved'))
  await expect(run(1)).rejects.toThrow('its encryption key is missing')
  expect(list()).toEqual(before)
})

test('the next start deletes files of a killed backup and a killed agent restore, and keeps a recent restore', async () => {
  const { run, config, list } = await openScheduled()
  await run(0)
  const before = list()
  const left = [join(config.dataDir, '.stead-backup-0123456789ab'), join(config.dataDir, '.restoring-agent-abcdef')]
  const young = join(config.dataDir, '.restoring-agent-123456')
  for (const folder of [...left, young]) mkdirSync(folder)
  utimesSync(left[1] ?? '', 0, 0)
  await sweepBackups(config)
  expect(list()).toEqual(before)
  expect(readdirSync(config.dataDir).filter((name) => /^\.(?:restoring|stead)/.test(name))).toEqual([
    '.restoring-agent-123456',
  ])
})

test('stead backup run: every listed backup is complete, and at least one exists, when the command is killed', async () => {
  const { run, config, to } = await openScheduled()
  const args = [...STEAD, 'backup', 'run']
  const env = { PATH: process.env.PATH ?? '', DATA_DIR: config.dataDir, BACKUP_TO: to, BACKUP_KEEP: '1d' }
  await run(-3)
  const start = () => Bun.spawn(args, { env, stdout: 'ignore', stderr: 'ignore' })
  const startedAt = performance.now()
  expect(await start().exited).toBe(0)
  const takesMs = performance.now() - startedAt
  for (let round = 0; round < KILLS; round++) {
    const child = start()
    const timer = setTimeout(() => child.kill('SIGKILL'), takesMs * (0.4 + (0.8 * round) / KILLS))
    await child.exited
    clearTimeout(timer)
    const listed = await listBackups(to)
    expect(listed.length).toBeGreaterThan(0)
    for (const { file } of listed) expect((await verifyBackup(file, null)).problems).toEqual([])
  }
  await runBackup({
    config: { ...config, backups: { ...config.backups, keep: { days: 1, weeks: 0, months: 0 } } },
    clock: systemClock,
  })
  expect((await listBackups(to)).length).toBe(1)
}, 600_000)
