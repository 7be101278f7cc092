import { expect, test } from 'bun:test'
import { chmodSync, chownSync, lchownSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { listBackups } from '../../../src/server/backups/verify.ts'
import { openInstallation } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'

const LIMIT_MS = 600_000
/** The user and group `nobody`. */
const SERVICE_USER = 65_534
const isRoot = process.getuid?.() === 0

/** Returns the files in a folder that root owns. */
function listOfRoot(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => statSync(join(folder, name)).uid === 0,
  )
}

function giveAll(folder: string): void {
  for (const name of ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })])
    lchownSync(join(folder, name), SERVICE_USER, SERVICE_USER)
}

test.skipIf(!isRoot)(
  "stead backup run and restore: run as root, leave no file that the service's user cannot read",
  async () => {
    using folder = tempFolder()
    const to = folder.file('backups')
    await using installation = await openInstallation({ environment: { BACKUP_TO: to } })
    await (await installation.start()).stop()
    giveAll(installation.dataDir)

    const made = await installation.run(['backup', 'run', '--json'])
    expect(made).toMatchObject({ exitCode: 0, stderr: '' })
    const { file } = z.object({ file: z.string() }).parse(JSON.parse(made.stdout))
    expect([statSync(to).uid, statSync(file).uid, ...listOfRoot(installation.dataDir)]).toEqual([
      SERVICE_USER,
      SERVICE_USER,
    ])

    const inPlace = await installation.run([
      'backup',
      'restore',
      file,
      '--data-dir',
      installation.dataDir,
      '--in-place',
    ])
    expect(inPlace).toMatchObject({ exitCode: 0, stderr: '' })
    expect(listOfRoot(installation.dataDir)).toEqual([])

    const empty = folder.file('empty')
    mkdirSync(empty)
    chownSync(empty, SERVICE_USER, SERVICE_USER)
    expect(await installation.run(['backup', 'restore', file, '--data-dir', empty])).toMatchObject({
      exitCode: 0,
      stderr: '',
    })
    expect(readdirSync(empty)).toContain('stead.db')
    expect(listOfRoot(empty)).toEqual([])
  },
  LIMIT_MS,
)

test.skipIf(!isRoot)('listBackups names an archive that the service cannot read and lists the others', async () => {
  using folder = tempFolder()
  for (const name of ['of-root.tar', 'broken.tar']) writeFileSync(folder.file(name), 'no archive', { mode: 0o600 })
  chmodSync(folder.path, 0o755)
  chownSync(folder.file('broken.tar'), SERVICE_USER, SERVICE_USER)
  process.seteuid?.(SERVICE_USER)
  try {
    const problems = (await listBackups(folder.path)).map(({ problem }) => problem).sort()
    expect(problems).toEqual([
      expect.stringContaining('EACCES'),
      expect.stringContaining('manifest.json cannot be read'),
    ])
  } finally {
    process.seteuid?.(0)
  }
})
