import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { tempFolder } from '../../tests/harness/temp-folder.ts'
import { readLines } from '../../tests/harness/wires/lines.ts'
import { StartupError } from '../core/errors.ts'
import { lockDataDir } from './instance-lock.ts'

test('lockDataDir allows one process at a time, and the lock ends with its process', async () => {
  using folder = tempFolder()
  const holder = startHolder(folder.path)
  expect((await readLines(holder.stdout).next()).value).toBe('locked')
  expect(() => lockDataDir(folder.path)).toThrow(/^DATA_DIR: another Stead is already running on /)

  holder.kill('SIGKILL')
  await holder.exited
  const release = lockDataDir(folder.path)
  const refused = startHolder(folder.path)
  expect(await refused.exited).not.toBe(0)
  expect(await new Response(refused.stderr).text()).toContain('another Stead is already running')
  release()
})

test('lockDataDir succeeds when the lock was released', () => {
  using folder = tempFolder()
  lockDataDir(folder.path)()
  lockDataDir(folder.path)()
})

test('lockDataDir throws when the folder is not writable', () => {
  using folder = tempFolder()
  expect(() => lockDataDir(folder.file('missing'))).toThrow(StartupError)
  expect(() => lockDataDir(folder.file('missing'))).not.toThrow(/already running/)
})

function startHolder(path: string) {
  const script = join(import.meta.dir, '../../tests/harness/programs/lock-holder.ts')
  return Bun.spawn([process.execPath, script, path], { stdout: 'pipe', stderr: 'pipe' })
}
