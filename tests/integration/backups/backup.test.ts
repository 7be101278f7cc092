import { expect, onTestFinished, test } from 'bun:test'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { extract } from 'tar-stream'
import { systemClock } from '../../../src/core/clock.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { createSeal, writeArchive } from '../../../src/server/backups/archive.ts'
import { createBackup } from '../../../src/server/backups/create.ts'
import { restoreBackup } from '../../../src/server/backups/restore.ts'
import {
  isUnfinished,
  markUnfinished,
  putAside,
  requireFinished,
  undoUnfinished,
} from '../../../src/server/backups/unfinished.ts'
import { extractBackup, listBackups, verifyBackup } from '../../../src/server/backups/verify.ts'
import { openKey } from '../../../src/server/keys/encryption-key.ts'
import { dumpTables } from '../../harness/rows/dump.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { fillInstallation, readTree } from './installation.ts'

const clock = systemClock

async function openInstallation() {
  const folder = tempFolder()
  onTestFinished(() => folder[Symbol.dispose]())
  const dataDir = folder.file('data')
  const config = await fillInstallation(dataDir)
  const out = folder.file('out')
  return {
    folder,
    config,
    out,
    create: () => createBackup({ config, clock }, out),
    restore: (file: string, to: string, more: { isInPlace?: boolean } = {}) =>
      restoreBackup({ clock }, { file, dataDir: to, isInPlace: false, givenKey: null, ...more }, () => {}),
  }
}

/** Reads the content of a data folder: rows, keys and stored files. */
function readAll(dataDir: string) {
  const connection = openDatabase(join(dataDir, 'stead.db'))
  try {
    const small = ['instance.id', 'webhook.key', 'encryption.key'].map((name) =>
      readFileSync(join(dataDir, name), 'utf8'),
    )
    const stored = readTree(join(dataDir, 'agents', 'ada-1', 'state'))
    return { rows: dumpTables(connection.db), small, stored, workspace: readTree(join(dataDir, 'workspace')) }
  } finally {
    connection.close()
  }
}

test('extraction stops when a database exceeds the size in the manifest', async () => {
  const { create, folder } = await openInstallation()
  const { file } = await create()
  const taken = folder.file('taken')
  mkdirSync(taken)
  const { manifest } = await extractBackup(file, taken, null)
  if (!manifest) throw new Error('The backup has no manifest')
  expect(manifest.databaseBytes).toBe(statSync(join(taken, 'stead.db')).size)
  const forge = async (name: string, databaseBytes: number | undefined) => {
    const forged = folder.file(name)
    await writeArchive(forged, { ...manifest, databaseBytes }, (path) => join(taken, path), createSeal(null))
    const again = folder.file(`${name}.taken`)
    mkdirSync(again)
    return { ...(await extractBackup(forged, again, null)), bytes: statSync(join(again, 'stead.db')).size }
  }
  const bomb = await forge('bomb.tar', 1000)
  expect(bomb.problems).toEqual([
    'data/stead.db.gz cannot be unpacked (it is larger than the 1000 bytes in the manifest)',
  ])
  expect(bomb.bytes).toBeLessThanOrEqual(1000)
  // Older backups lack the field and stay valid.
  expect((await forge('older.tar', undefined)).problems).toEqual([])
})

test('a restore elsewhere equals the backup: rows, keys, files and the state of each agent', async () => {
  const { config, create, restore, folder, out } = await openInstallation()
  const created = await create()
  expect(statSync(created.file).mode & 0o777).toBe(0o600)
  expect(new Bun.CryptoHasher('sha256').update(readFileSync(created.file)).digest('hex')).toBe(created.sha256)
  expect(readdirSync(out)).toHaveLength(1)
  expect(created.agents.map(({ id, state }) => [id, state])).toEqual([
    ['ada-1', 'whole'],
    ['bo-1', 'none'],
  ])
  expect(await verifyBackup(created.file, null)).toMatchObject({
    problems: [],
    manifest: { key: 'kept', instance: 'abcdefghijkl' },
  })
  expect(await listBackups(out)).toMatchObject([{ file: created.file, bytes: created.bytes, problem: null }])

  const to = folder.file('elsewhere')
  const restored = await restore(created.file, to)
  expect(restored.agents).toEqual(created.agents)
  const before = readAll(config.dataDir)
  const after = readAll(to)
  // Links are relative to their folder.
  expect(after).toEqual({ ...before, stored: { ...before.stored, link: 'link to empty' } })
  expect(readdirSync(to).sort()).toEqual(
    ['agents', 'encryption.key', 'instance.id', 'instance.lock', 'stead.db', 'webhook.key', 'workspace'].sort(),
  )
  expect(statSync(join(to, 'encryption.key')).mode & 0o777).toBe(0o600)
  await expect(restore(created.file, to)).rejects.toThrow('is not empty')
})

/** Returns the offset and size of each entry's content. */
async function locate(file: string): Promise<Map<string, { start: number; size: number }>> {
  const places = new Map<string, { start: number; size: number }>()
  let at = 0
  const archive = extract()
  archive.end(readFileSync(file))
  for await (const entry of archive) {
    const size = entry.header.size ?? 0
    places.set(entry.header.name, { start: at + 512, size })
    at += 512 + Math.ceil(size / 512) * 512
    entry.resume()
  }
  return places
}

test('verify names the damaged part and restore leaves no files when any byte is modified', async () => {
  const { create, restore, folder } = await openInstallation()
  const { file } = await create()
  const whole = readFileSync(file)
  const places = await locate(file)
  expect([...places.keys()]).toEqual([
    ...['manifest.json', 'manifest.json.sha256', 'data/encryption.key', 'data/instance.id', 'data/stead.db.gz'],
    ...['data/webhook.key', 'data/workspace.tar.gz', 'agents/ada-1.tar.gz'],
  ])
  const altered = folder.file('altered.tar')
  for (const [name, { start, size }] of places) {
    for (const at of [start, start + Math.floor(size / 2), start + size - 1]) {
      const bytes = Buffer.from(whole)
      bytes[at] = (bytes[at] ?? 0) ^ 0x01
      writeFileSync(altered, bytes)
      const { problems } = await verifyBackup(altered, null)
      const named = name === 'manifest.json.sha256' ? 'manifest.json' : name
      expect(problems.join('; ')).toContain(named)
    }
    const header = Buffer.from(whole)
    header[start - 512 + 124] = 0x39
    writeFileSync(altered, header)
    expect((await verifyBackup(altered, null)).problems).not.toEqual([])
  }
  const to = folder.file('elsewhere')
  await expect(restore(altered, to)).rejects.toThrow('is not whole')
  expect(existsSync(to)).toBe(false)
})

test('verify throws when a backup was cut off anywhere', async () => {
  const { create, folder } = await openInstallation()
  const { file } = await create()
  const part = folder.file('part.tar')
  const ends = [...(await locate(file)).values()].flatMap(({ start, size }) => [
    start - 512,
    start - 1,
    start + size - 1,
  ])
  for (const end of [0, ...ends]) {
    copyFileSync(file, part)
    truncateSync(part, end)
    expect((await verifyBackup(part, null)).problems).not.toEqual([])
  }
  expect((await listBackups(folder.path)).find((entry) => entry.file === part)).toMatchObject({
    manifest: expect.anything(),
  })
})

test('createBackup throws when the database is damaged or the key does not match', async () => {
  const { config, create, out } = await openInstallation()
  writeFileSync(join(config.dataDir, 'encryption.key'), 'another key, of enough characters')
  await expect(create()).rejects.toThrow('the encryption key is not the one that it was sealed with')
  rmSync(join(config.dataDir, 'encryption.key'))
  await expect(create()).rejects.toThrow('its encryption key is missing')
  expect(readdirSync(out)).toEqual([])
})

test('a key that is passed is not in the backup, and verify uses it', async () => {
  const { config, folder, restore } = await openInstallation()
  const encryptionKey = openKey(config)
  rmSync(join(config.dataDir, 'encryption.key'))
  const { file } = await createBackup({ config: { ...config, encryptionKey }, clock }, folder.file('out'))
  expect(readFileSync(file).includes(encryptionKey)).toBe(false)
  expect((await verifyBackup(file, encryptionKey)).problems).toEqual([])
  expect((await verifyBackup(file, null)).problems).toEqual([
    'data/stead.db.gz: its key is not in the backup: set ENCRYPTION_KEY to prove that it fits',
  ])
  expect((await verifyBackup(file, 'another key, of enough characters')).problems.join()).toContain('is not the one')
  await expect(restore(file, folder.file('elsewhere'))).rejects.toThrow('set ENCRYPTION_KEY')
})

test('restore in place moves the old files aside and replaces them; a failed restore changes nothing', async () => {
  const { config, create, restore } = await openInstallation()
  const { file } = await create()
  const before = readAll(config.dataDir)
  const session = join(config.dataDir, 'agents', 'ada-1', 'state', 'sessions', 'today.jsonl')
  writeFileSync(session, 'spoilt')
  writeFileSync(join(config.dataDir, 'encryption.key.until-20261122T000000000Z'), 'a former key')
  const spoilt = readTree(config.dataDir)

  const altered = join(config.dataDir, 'altered.tar')
  writeFileSync(altered, readFileSync(file).subarray(0, 5000))
  await expect(restore(altered, config.dataDir, { isInPlace: true })).rejects.toThrow('is not whole')
  rmSync(altered)
  expect(readTree(config.dataDir)).toEqual({ ...spoilt, 'instance.lock': '' })

  const { replaced } = await restore(file, config.dataDir, { isInPlace: true })
  const after = readAll(config.dataDir)
  expect(after).toEqual({ ...before, stored: { ...before.stored, link: 'link to empty' } })
  expect(readFileSync(join(replaced ?? '', 'agents/ada-1/state/sessions/today.jsonl'), 'utf8')).toBe('spoilt')
  expect(existsSync(join(replaced ?? '', 'encryption.key.until-20261122T000000000Z'))).toBe(true)
})

test('stead backup on a full disk reports the error and leaves no files', async () => {
  const { config, folder } = await openInstallation()
  const out = folder.file('small')
  mkdirSync(out)
  if (Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=16k', 'none', out], { stderr: 'ignore' }).exitCode !== 0) {
    console.warn('left out: nothing can be mounted here')
    return
  }
  try {
    await expect(createBackup({ config, clock }, out)).rejects.toThrow(/ENOSPC|full/)
    expect(readdirSync(out)).toEqual([])
  } finally {
    Bun.spawnSync(['umount', out])
  }
})

test('createBackup deletes unlocked files of a killed run and keeps those of a running one', async () => {
  const { config, create, out, folder } = await openInstallation()
  const left = join(config.dataDir, '.stead-backup-0123456789ab')
  const part = folder.file('.stead-backup-0123456789ab.part')
  const other = folder.file('kept.tar')
  mkdirSync(left, { mode: 0o700 })
  writeFileSync(join(left, 'encryption.key'), 'a key')
  writeFileSync(join(left, 'part'), part)
  for (const file of [part, other]) writeFileSync(file, 'a part of a backup')
  const files = (await Promise.all([create(), Bun.sleep(5).then(create)])).map(({ file }) => file)
  expect(
    readdirSync(out)
      .map((name) => join(out, name))
      .sort(),
  ).toEqual(files.sort())
  expect([existsSync(part), existsSync(other)]).toEqual([false, true])
  expect(readdirSync(config.dataDir).filter((name) => name.startsWith('.stead-'))).toEqual([])
})

test('createBackup collects only keys and database in the data folder when the destination is another disk', async () => {
  const { config, folder } = await openInstallation()
  const out = folder.file('disk')
  mkdirSync(out)
  if (Bun.spawnSync(['mount', '-t', 'tmpfs', 'none', out], { stderr: 'ignore' }).exitCode !== 0) {
    console.warn('left out: nothing can be mounted here')
    return
  }
  try {
    const seen = new Set<string>()
    const { file } = await createBackup({ config, clock }, out, () => {
      for (const name of readdirSync(out)) seen.add(name)
    })
    expect([...seen]).toEqual([])
    expect(readdirSync(out)).toEqual([basename(file)])
    expect((await verifyBackup(file, null)).problems).toEqual([])
  } finally {
    Bun.spawnSync(['umount', out])
  }
})

test('createBackup throws a StartupError that names the folder when it is not writable', async () => {
  const { config } = await openInstallation()
  await expect(createBackup({ config, clock }, '/proc/backups')).rejects.toThrow(
    /^backup: \/proc\/backups cannot be written \(E\w+: [^\n]+\)$/,
  )
  const backups = { passphrase: undefined, to: '/proc/backups' }
  await expect(createBackup({ config: { ...config, backups }, clock }, '/proc/backups')).rejects.toThrow(
    /^BACKUP_TO: \/proc\/backups cannot be written/,
  )
})

test('listBackups returns an empty list when there is no folder', async () => {
  const { folder } = await openInstallation()
  expect(await listBackups(folder.file('nowhere'))).toEqual([])
})

test('a restore in place that fails at any step, or whose rollback fails, is rolled back completely', async () => {
  const { config, folder } = await openInstallation()
  const names = readdirSync(config.dataDir).sort()
  const before = readTree(config.dataDir)
  const replaced = 'replaced-2026-11-22T14-00-00-000Z'
  const copies = folder.file('copies')
  const mark = (dataDir: string, isAside: boolean) => markUnfinished(dataDir, { replaced, isAside })
  const expectBack = (dataDir: string) => {
    expect(isUnfinished(dataDir)).toBe(true)
    expect(() => requireFinished(dataDir)).toThrow('was interrupted')
    undoUnfinished(dataDir)
    expect(readTree(dataDir)).toEqual(before)
    expect(readdirSync(dataDir).sort()).toEqual(names)
  }
  for (let moved = 0; moved <= names.length; moved++) {
    const dataDir = join(copies, String(moved))
    cpSync(config.dataDir, dataDir, { recursive: true, verbatimSymlinks: true })
    const aside = (count: number) => {
      mkdirSync(join(dataDir, replaced))
      for (const name of names.slice(0, count)) renameSync(join(dataDir, name), join(dataDir, replaced, name))
    }
    // Killed while the old folder is moved aside or back.
    aside(moved)
    mark(dataDir, false)
    expectBack(dataDir)
    // Killed while the backup, which has one more key file, is moved into place.
    putAside(dataDir, replaced)
    for (const name of [...names, 'encryption.key.until-20261122T000000000Z'].slice(0, moved + 1)) {
      writeFileSync(join(dataDir, name), 'of the backup')
    }
    expectBack(dataDir)
  }
})
