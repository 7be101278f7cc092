import { expect, onTestFinished, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../src/core/clock.ts'
import { createBackup } from '../../../src/server/backups/create.ts'
import { STEAD } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { fillInstallation, readTree } from './installation.ts'

test('stead backup drill: restores and opens the newest backup, reports the result, leaves no files, and names a damaged one', async () => {
  const folder = tempFolder()
  onTestFinished(() => folder[Symbol.dispose]())
  const config = await fillInstallation(folder.file('data'))
  const to = folder.file('to')
  const temporary = folder.file('tmp')
  mkdirSync(temporary)
  const drill = (...args: string[]) =>
    Bun.spawnSync([...STEAD, 'backup', 'drill', ...args], {
      env: { PATH: process.env.PATH ?? '', DATA_DIR: config.dataDir, BACKUP_TO: to, TMPDIR: temporary },
    })
  mkdirSync(to)
  expect(drill().stderr.toString()).toBe(`stead: backup: there is none in ${to}\n`)
  await createBackup({ config, clock: systemClock }, to)
  const { file } = await createBackup({ config, clock: systemClock }, to)
  const before = readTree(config.dataDir)
  const done = drill('--json')
  expect(JSON.parse(done.stdout.toString())).toMatchObject({ file, agents: 2, problems: [], ok: true })
  expect(done.exitCode).toBe(0)
  expect(readTree(config.dataDir)).toEqual(before)
  expect(listLeftovers(temporary)).toEqual([])
  const cut = join(to, 'cut.tar')
  writeFileSync(cut, readFileSync(file).subarray(0, 6000))
  const refused = drill(cut)
  expect(refused.exitCode).toBe(1)
  expect(refused.stderr.toString()).toContain(`${cut} is not whole`)
  expect(listLeftovers(temporary)).toEqual([])
}, 600_000)

/** Returns files other than the native module, which the executable unpacks once. */
function listLeftovers(folder: string): string[] {
  return readdirSync(folder).filter((name) => !/^\.bun-.*\.node$/.test(name))
}
