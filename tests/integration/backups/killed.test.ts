import { expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/core/clock.ts'
import { lockDataDir } from '../../../src/db/instance-lock.ts'
import { createBackup } from '../../../src/server/backups/create.ts'
import { removeForgotten } from '../../../src/server/backups/staging.ts'
import { undoUnfinished } from '../../../src/server/backups/unfinished.ts'
import { listBackups, verifyBackup } from '../../../src/server/backups/verify.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { STEAD } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { fillInstallation, readTree } from './installation.ts'

const ROUNDS = roundsOf('BACKUP_KILLS', 6)

/** Runs a command and kills it after `ms`. @returns whether it finished earlier. */
async function runFor(args: string[], dataDir: string, ms: number): Promise<boolean> {
  const child = Bun.spawn([...STEAD, ...args], {
    env: { PATH: process.env.PATH ?? '', DATA_DIR: dataDir },
    stdout: 'ignore',
    stderr: 'ignore',
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), ms)
  await child.exited
  clearTimeout(timer)
  return child.signalCode === null
}

/** Returns the duration of the command in ms. */
async function measure(args: string[], dataDir: string): Promise<number> {
  const startedAt = performance.now()
  expect(await runFor(args, dataDir, 120_000)).toBe(true)
  return performance.now() - startedAt
}

/** Reads the installation without lock files and files of SQLite. */
function readInstallation(dataDir: string): Record<string, string> {
  const files = Object.entries(readTree(dataDir))
  return Object.fromEntries(
    files.filter(([name]) => !/^(?:instance\.lock|stead\.db-(?:wal|shm))|^\.(?:restoring|stead-)/.test(name)),
  )
}

test('stead backup create: the installation is unchanged and every backup is complete when the command is killed', async () => {
  using folder = tempFolder()
  const { dataDir } = await fillInstallation(folder.file('data'))
  const before = readInstallation(dataDir)
  const out = folder.file('out')
  const args = ['backup', 'create', '--out', out]
  const takesMs = await measure(args, dataDir)
  for (let round = 0; round < ROUNDS; round++) {
    await runFor(args, dataDir, takesMs * (0.4 + (0.9 * round) / ROUNDS))
    expect(readdirSync(out).filter((name) => !/^stead-[0-9TZ-]+\.tar$/.test(name))).toEqual([])
    for (const { file } of await listBackups(out)) expect((await verifyBackup(file, null)).problems).toEqual([])
    expect(readInstallation(dataDir)).toEqual(before)
  }
  await removeForgotten(dataDir)
  expect(readdirSync(dataDir).filter((name) => name.startsWith('.stead-backup-'))).toEqual([])
}, 600_000)

test('stead backup restore --in-place: the next start finds the old or the restored files, complete, when the command is killed', async () => {
  using folder = tempFolder()
  const config = await fillInstallation(folder.file('data'))
  const { dataDir } = config
  const { file } = await createBackup({ config, clock: systemClock }, folder.file('out'))
  const args = ['backup', 'restore', file, '--data-dir', dataDir, '--in-place']
  const takesMs = await measure(args, dataDir)
  const key = join(dataDir, 'webhook.key')
  const outcomes = { before: 0, after: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of readdirSync(dataDir))
      if (name.startsWith('replaced-')) rmSync(join(dataDir, name), { recursive: true })
    await Bun.write(key, `changed ${round}`)
    const before = readInstallation(dataDir)
    await runFor(args, dataDir, takesMs * (0.4 + (0.9 * round) / ROUNDS))
    const unlock = lockDataDir(dataDir)
    undoUnfinished(dataDir)
    unlock()
    expect(existsSync(join(dataDir, 'restore.unfinished'))).toBe(false)
    const now = readInstallation(dataDir)
    const isBefore = readFileSync(key, 'utf8') === `changed ${round}`
    outcomes[isBefore ? 'before' : 'after']++
    if (isBefore) expect(now).toEqual(before)
    else
      expect(
        Object.keys(now)
          .filter((name) => !name.startsWith('replaced-'))
          .sort(),
      ).toEqual(Object.keys(before).sort())
  }
  console.info(`killed ${ROUNDS} times: ${outcomes.before} were as before, ${outcomes.after} restored`)
}, 600_000)

test('the next start deletes the marker of a restore that was killed before it replaced files', async () => {
  using folder = tempFolder()
  const { dataDir } = await fillInstallation(folder.file('data'))
  const before = readInstallation(dataDir)
  await Bun.write(join(dataDir, 'restore.unfinished.new'), '{"replaced":')
  undoUnfinished(dataDir)
  expect(readInstallation(dataDir)).toEqual(before)
})
