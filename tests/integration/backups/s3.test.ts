import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { openObjects } from '../../../src/adapters/objects/open-objects.ts'
import { openObjectStore } from '../../../src/adapters/objects/s3.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { createBackup } from '../../../src/server/backups/create.ts'
import { restoreBackup } from '../../../src/server/backups/restore.ts'
import { type RunConfig, runBackup } from '../../../src/server/backups/run.ts'
import { createBackupStore, createRemoteBackup, withLocalBackup } from '../../../src/server/backups/store.ts'
import { refuse, startS3 } from '../../harness/objects/s3-server.ts'
import { STEAD } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { fillInstallation, readTree } from './installation.ts'

const LIMIT_MS = 120_000
const PASSPHRASE = 'correct horse battery'
const NOW = new Date('2026-11-22T12:00:00Z')
const at = (days: number) => ({ now: () => new Date(NOW.getTime() + days * 86_400_000) })

async function openStored() {
  const folder = tempFolder()
  const s3 = await startS3()
  const installation = await fillInstallation(folder.file('data'))
  const backups = {
    ...{ schedule: undefined, drillSchedule: undefined, keep: { days: 2, weeks: 0, months: 0 }, to: s3.address },
    ...{ passphrase: undefined, s3: s3.settings },
  }
  const config: RunConfig = { ...installation, backups, minFreeDiskBytes: 0 }
  const backupStore = createBackupStore(backups)
  return {
    ...{ folder, s3, config, backups, backupStore },
    list: async () => (await backupStore.list()).map(({ name }) => name),
    /** Temporary files of backups. */
    leftovers: () => readdirSync(config.dataDir).filter((name) => name.startsWith('.stead-backup-')),
    async [Symbol.asyncDispose]() {
      await s3[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

test(
  's3://: a run stores a backup, verifies it, deletes only its expired ones, and can be restored completely',
  async () => {
    await using stored = await openStored()
    const { config, backups, s3, list, folder, leftovers } = stored
    const first = await runBackup({ config, clock: at(0) })
    expect(first.file).toBe(`${s3.address}/stead-2026-11-22T12-00-00-000Z.abcdefghijkl.tar`)
    const other = await fillInstallation(folder.file('other'))
    writeFileSync(join(other.dataDir, 'instance.id'), 'zyxwvutsrqpo')
    const foreign = await createRemoteBackup({ config: { ...other, backups }, clock: at(-9) }, s3.address, () => {})
    await runBackup({ config, clock: at(1) })
    const third = await runBackup({ config, clock: at(2) })
    expect(third.removed).toEqual([first.file])
    expect(await list()).toEqual([
      'stead-2026-11-24T12-00-00-000Z.abcdefghijkl.tar',
      'stead-2026-11-23T12-00-00-000Z.abcdefghijkl.tar',
      foreign.file.slice(s3.address.length + 1),
    ])
    expect(leftovers()).toEqual([])
    const dataDir = folder.file('restored')
    const order = { dataDir, isInPlace: false, givenKey: null }
    await withLocalBackup(third.file, backups, (file) =>
      restoreBackup({ clock: systemClock }, { ...order, file }, () => {}),
    )
    const state = (root: string) => readTree(join(root, 'agents/ada-1/state'))['sessions/today.jsonl']
    expect(state(dataDir)).toBe(state(config.dataDir))
  },
  LIMIT_MS,
)

test(
  's3://: backups are encrypted, and the CLI creates, verifies, tests and lists them',
  async () => {
    await using stored = await openStored()
    const { config, s3, folder } = stored
    writeFileSync(folder.file('passphrase'), PASSPHRASE, { mode: 0o600 })
    const run = async (...args: string[]) => {
      const child = Bun.spawn([...STEAD, ...args], {
        env: {
          ...{ PATH: process.env.PATH ?? '', HOME: folder.path, DATA_DIR: config.dataDir, BACKUP_TO: s3.address },
          ...{ S3_ENDPOINT: s3.settings.endpoint, S3_ACCESS_KEY_ID: 'S3RVER', S3_SECRET_ACCESS_KEY: 'S3RVER' },
          BACKUP_PASSPHRASE_FILE: folder.file('passphrase'),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
      return { exitCode: await child.exited, stdout, stderr }
    }
    // A low scrypt work factor, because the default takes a second; tests/integration/backups/sealed.test.ts covers
    // it.
    const sealing = { passphrase: PASSPHRASE, scryptWorkFactor: 10 }
    const { file } = await runBackup({
      config: { ...config, backups: { ...stored.backups, ...sealing } },
      clock: at(0),
    })
    expect(file).toMatch(/\.abcdefghijkl\.tar\.age$/)
    const [name = ''] = await stored.list()
    expect(await new Response(stored.backupStore.read(name)).text()).toStartWith('age-encryption.org/v1')
    expect(await run('backup', 'verify', file)).toMatchObject({ exitCode: 0, stderr: '' })
    expect(JSON.parse((await run('backup', 'drill', '--json')).stdout)).toMatchObject({ file, ok: true, agents: 2 })
    expect(JSON.parse((await run('backup', 'list', '--json')).stdout).backups).toMatchObject([{ file, problem: null }])
    expect(await run('backup', 'verify', `${s3.address}/nothing.tar`)).toMatchObject({ exitCode: 1 })

    const made = await run('backup', 'run', '--json')
    expect(made).toMatchObject({ exitCode: 0, stderr: '' })
    const own = z
      .object({ file: z.string() })
      .parse(JSON.parse(made.stdout))
      .file.slice(s3.address.length + 1)
    expect(own).toMatch(/\.abcdefghijkl\.tar\.age$/)
    expect(await stored.list()).toContain(own)
    expect(await new Response(stored.backupStore.read(own)).text()).toMatch(
      /^age-encryption\.org\/v1\n-> scrypt \S+ 18\n/,
    )
  },
  LIMIT_MS,
)

test(
  "s3://: no backup is listed when an upload is refused (403), fails (500) or breaks, and the error has the server's message",
  async () => {
    await using stored = await openStored()
    const { config, s3, folder, list, leftovers } = stored
    await runBackup({ config, clock: at(0) })
    const before = await list()
    s3.setFault(() => refuse(403, 'AccessDenied'))
    await expect(runBackup({ config, clock: at(1) })).rejects.toThrow('AccessDenied')
    await expect(createBackupStore(config.backups).list()).rejects.toThrow('AccessDenied')
    s3.setFault(() => null)

    const store = openObjectStore(s3.address, s3.settings)
    // Uploaded in three parts.
    writeFileSync(folder.file('large'), randomBytes(17_000_000))
    const isPart = ({ method, url }: Request) => method === 'PUT' && /partNumber=2\b/.test(url)
    s3.setFault((request) => (isPart(request) ? refuse(500, 'InternalError') : null))
    await expect(store.put('large.tar', folder.file('large'))).rejects.toThrow('InternalError')
    let refusals = 2
    s3.setFault((request) => (isPart(request) && refusals-- > 0 ? refuse(500, 'InternalError') : null))
    await store.put('again.tar', folder.file('large'))
    s3.setFault((request) => (isPart(request) ? 'reset' : null))
    await expect(store.put('broken.tar', folder.file('large'))).rejects.toThrow('s3://backups/house/broken.tar')
    expect(leftovers()).toEqual([])
    const afterwards = openObjectStore(s3.address, s3.behind)
    expect((await afterwards.list()).map(({ name }) => name).sort()).toEqual([...before, 'again.tar'].sort())
  },
  LIMIT_MS,
)

test('s3://: an object that differs from the upload is not a backup and is deleted', async () => {
  await using stored = await openStored()
  const { config, s3, list } = stored
  s3.setFault(({ method, url }) => (method === 'GET' && url.includes('.tar') ? new Response('something else') : null))
  await expect(runBackup({ config, clock: at(0) })).rejects.toThrow('is not what was sent')
  expect(await list()).toEqual([])
})

test(
  'a backup contains the videos that OBJECTS_URL keeps in a bucket',
  async () => {
    await using s3 = await startS3()
    using folder = tempFolder()
    const installation = await fillInstallation(folder.file('data'))
    const objects = { address: s3.address, s3: s3.settings }
    const content = randomBytes(300_000)
    await openObjects(objects).put('videos/vid_1.mp4', async (file) => writeFileSync(file, content))
    const { file } = await createBackup({ config: { ...installation, objects }, clock: systemClock }, folder.path)
    const dataDir = folder.file('restored')
    await restoreBackup({ clock: systemClock }, { file, dataDir, isInPlace: false, givenKey: null }, () => {})
    expect(readTree(join(dataDir, 'videos'))).toEqual({ 'vid_1.mp4': content.toString('base64') })
    s3.setFault(() => refuse(403, 'AccessDenied'))
    const refused = createBackup({ config: { ...installation, objects }, clock: systemClock }, folder.file('two.tar'))
    await expect(refused).rejects.toMatchObject({ kind: 'unavailable' })
  },
  LIMIT_MS,
)
