import { expect, onTestFinished, test } from 'bun:test'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { Decrypter } from 'age-encryption'
import { systemClock } from '../../../src/core/clock.ts'
import { readConfig } from '../../../src/core/config.ts'
import { createSeal } from '../../../src/server/backups/archive.ts'
import { createBackup } from '../../../src/server/backups/create.ts'
import { restoreBackup } from '../../../src/server/backups/restore.ts'
import { runBackup } from '../../../src/server/backups/run.ts'
import { listBackups, verifyBackup } from '../../../src/server/backups/verify.ts'
import { STEAD } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { fillInstallation, readTree } from './installation.ts'

const PASSPHRASE = 'tea at four and cake at five'
const clock = systemClock

async function openSealed() {
  const folder = tempFolder()
  onTestFinished(() => folder[Symbol.dispose]())
  const installation = await fillInstallation(folder.file('data'))
  const to = folder.file('to')
  const keep = { days: 1, weeks: 0, months: 0 }
  const config = {
    ...installation,
    backups: {
      schedule: undefined,
      drillSchedule: undefined,
      keep,
      to,
      passphrase: PASSPHRASE,
      scryptWorkFactor: 10,
      s3: null,
    },
    minFreeDiskBytes: 0,
  }
  return { folder, config, to }
}

test('an encrypted backup has the age format, contains nothing readable, and is verified, listed and restored with its passphrase', async () => {
  const { folder, config, to } = await openSealed()
  const { file, sha256 } = await createBackup({ config, clock }, to)
  expect(basename(file)).toMatch(/^stead-[0-9TZ-]+\.abcdefghijkl\.tar\.age$/)
  const bytes = readFileSync(file)
  expect(new Bun.CryptoHasher('sha256').update(bytes).digest('hex')).toBe(sha256)
  expect(bytes.includes('manifest.json')).toBe(false)
  expect(readdirSync(to)).toEqual([basename(file)])
  expect(readdirSync(config.dataDir).filter((name) => name.startsWith('.stead'))).toEqual([])
  const decrypter = new Decrypter()
  decrypter.addPassphrase(PASSPHRASE)
  expect(Buffer.from(await decrypter.decrypt(bytes)).includes('manifest.json')).toBe(true)

  expect((await verifyBackup(file, null, PASSPHRASE)).problems).toEqual([])
  expect((await verifyBackup(file, null, 'another passphrase')).problems).toEqual([
    'the passphrase is not the one that it was sealed with',
  ])
  const closed = 'it is sealed: set BACKUP_PASSPHRASE_FILE to open it'
  expect((await verifyBackup(file, null)).problems).toEqual([closed])
  expect(await listBackups(to)).toMatchObject([{ manifest: null, problem: closed }])
  expect(await listBackups(to, PASSPHRASE)).toMatchObject([{ manifest: { instance: 'abcdefghijkl' }, problem: null }])

  const order = { file, dataDir: folder.file('elsewhere'), isInPlace: false, givenKey: null }
  await expect(restoreBackup({ clock }, order, () => {})).rejects.toThrow(closed)
  expect(existsSync(order.dataDir)).toBe(false)
  await restoreBackup({ clock }, { ...order, passphrase: PASSPHRASE }, () => {})
  expect(readTree(join(order.dataDir, 'workspace'))).toEqual(readTree(join(config.dataDir, 'workspace')))
})

test('verify throws when an encrypted backup is modified or cut off anywhere', async () => {
  const { folder, config, to } = await openSealed()
  const whole = readFileSync((await createBackup({ config, clock }, to)).file)
  const altered = folder.file('altered.tar.age')
  for (const at of [60, 200, Math.floor(whole.length / 2), whole.length - 1]) {
    const bytes = Buffer.from(whole)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    writeFileSync(altered, bytes)
    expect((await verifyBackup(altered, null, PASSPHRASE)).problems).not.toEqual([])
  }
  for (const end of [10, 22, 150, Math.floor(whole.length / 2), whole.length - 1]) {
    writeFileSync(altered, whole.subarray(0, end))
    expect((await verifyBackup(altered, null, PASSPHRASE)).problems).not.toEqual([])
  }
})

test('a run keeps encrypted backups by their names, and leaves those of other installations', async () => {
  const { config, to } = await openSealed()
  const first = await runBackup({ config, clock })
  const foreign = join(to, 'stead-2020-01-01T00-00-00-000Z.zyxwvutsrqpo.tar.age')
  writeFileSync(foreign, 'of somebody')
  const second = await runBackup({ config, clock })
  expect(second.removed).toEqual([first.file])
  expect(existsSync(foreign)).toBe(true)
})

test('stead backup verify: reports a wrong passphrase, and refuses a passphrase file that others can read', async () => {
  const { folder, config, to } = await openSealed()
  const { file } = await createBackup({ config, clock }, to)
  const secret = folder.file('passphrase')
  const run = (environment: Record<string, string>) =>
    Bun.spawnSync([...STEAD, 'backup', 'verify', file], {
      env: { PATH: process.env.PATH ?? '', DATA_DIR: config.dataDir, ...environment },
    })
  writeFileSync(secret, 'not the one at all\n', { mode: 0o600 })
  const wrong = run({ BACKUP_PASSPHRASE_FILE: secret })
  expect(wrong.stdout.toString()).toBe('✗ the passphrase is not the one that it was sealed with\n')
  expect(wrong.exitCode).toBe(1)
  writeFileSync(secret, `${PASSPHRASE}\n`)
  expect(run({ BACKUP_PASSPHRASE_FILE: secret }).exitCode).toBe(0)
  chmodSync(secret, 0o644)
  expect(() => readConfig({ BACKUP_PASSPHRASE_FILE: secret })).toThrow(
    `BACKUP_PASSPHRASE_FILE: ${secret} can be read or changed by others: chmod 600 it`,
  )
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('the work factor of a passphrase is the one of age', async () => {
  const pieces: Uint8Array[] = []
  for await (const piece of createSeal(PASSPHRASE)(Readable.from([Buffer.from('whatever')]))) pieces.push(piece)
  expect(Buffer.concat(pieces).toString('latin1')).toMatch(/^age-encryption\.org\/v1\n-> scrypt \S+ 18\n/)
})
