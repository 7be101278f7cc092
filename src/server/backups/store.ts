import { randomUUID } from 'node:crypto'
import { createWriteStream, readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type ObjectStore, openObjectStore, readObjectAddress, toStoreError } from '../../adapters/objects/s3.ts'
import { errorCode } from '../../adapters/runtimes/process/files.ts'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import { AppError, errorMessage, StartupError } from '../../core/errors.ts'
import type { BackupStore, StoredBackup } from '../../features/admin/backups/store.ts'
import { createSummer } from './archive.ts'
import { type BackupConfig, type CreatedBackup, createBackup, type Report } from './create.ts'
import { openStaging } from './staging.ts'

/** Content of the file that tests whether a location is writable. */
const PROBE = 'Written by Stead to test this place for backups.\n'
const BACKUP = /^[\w.-]+\.tar(?:\.age)?$/
const OWN_NAME = /^stead-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z(?:\.[a-z0-9]+)?\.tar(?:\.age)?$/

/** Opens the backup store at `BACKUP_TO`, a folder or an object storage address. */
export function createBackupStore({ to, s3 }: Pick<Config['backups'], 'to' | 's3'>): BackupStore {
  if (!isRemote(to)) return createFolderBackupStore(to)
  const store = openStore(to, { s3 })
  return {
    async list() {
      const objects = (await store.list()).filter(({ name }) => BACKUP.test(name))
      return newestFirst(objects.map(({ name, sizeBytes }) => toStoredBackup(name, sizeBytes)))
    },
    read: store.read,
    locate: store.locate,
    test: () => testPlace(to, (name, file) => tryStore(store, name, file)),
  }
}

/** Opens the backup store at the location that `readPlace` returns at each call. */
export function createConfiguredBackupStore(
  readPlace: () => string,
  { s3 }: Pick<Config['backups'], 's3'>,
): BackupStore {
  const open = () => createBackupStore({ to: readPlace(), s3 })
  return {
    list: () => open().list(),
    read: (name) => open().read(name),
    locate: (name) => open().locate(name),
    test: (signal) => open().test(signal),
  }
}

/**
 * Opens object storage.
 * @throws AppError `invalid` without credentials: the location may come from the dashboard, long after the start.
 */
function openStore(to: string, settings: Pick<Config['backups'], 's3'>): ObjectStore {
  try {
    return openRemote(to, settings)
  } catch (error) {
    if (error instanceof StartupError) throw new AppError('invalid', error.message, {}, { cause: error })
    throw error
  }
}

async function tryStore(store: ObjectStore, name: string, file: string): Promise<void> {
  await store.put(name, file)
  try {
    const text = await new Response(store.read(name)).text()
    if (text !== PROBE) throw new Error('the content that was read differs from what was written')
  } finally {
    await store.remove(name)
  }
}

async function tryFolder(folder: string, name: string, file: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const copy = join(folder, name)
  try {
    await copyFile(file, copy)
    if ((await readFile(copy, 'utf8')) !== PROBE)
      throw new Error('the content that was read differs from what was written')
  } finally {
    await rm(copy, { force: true })
  }
}

/** Writes, reads and deletes a file. @throws AppError `invalid` with the reason why the location cannot be used. */
async function testPlace(to: string, attempt: (name: string, file: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'stead-probe-'))
  const name = `.stead-probe-${randomUUID()}`
  try {
    const file = join(folder, name)
    await writeFile(file, PROBE)
    await attempt(name, file)
  } catch (error) {
    throw new AppError('invalid', `Backups cannot be written to ${to} (${errorMessage(error)})`, {}, { cause: error })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Opens the backups of a folder, which may not exist yet. */
function createFolderBackupStore(folder: string): BackupStore {
  const locate = (name: string) => join(folder, basename(name))
  return {
    async list() {
      try {
        const names = (await readdir(folder)).filter((name) => BACKUP.test(name))
        const listed = await Promise.all(
          names.map(async (name) => toStoredBackup(name, (await stat(locate(name))).size)),
        )
        return newestFirst(listed)
      } catch (error) {
        if (errorCode(error) === 'ENOENT') return []
        throw new AppError('unavailable', `BACKUP_TO cannot be read (${errorMessage(error)})`, {}, { cause: error })
      }
    },
    read: (name) => Bun.file(locate(name)).stream(),
    locate,
    test: () => testPlace(folder, (name, file) => tryFolder(folder, name, file)),
  }
}

/** Returns the time in a backup's name; null for a name that Stead did not give. */
export function readBackupTime(name: string): Date | null {
  const [, day, hours, minutes, seconds, milliseconds] = OWN_NAME.exec(name) ?? []
  return day === undefined ? null : new Date(`${day}T${hours}:${minutes}:${seconds}.${milliseconds}Z`)
}

function toStoredBackup(name: string, sizeBytes: number): StoredBackup {
  return { name, sizeBytes, createdAt: readBackupTime(name), isSealed: name.endsWith('.age') }
}

function newestFirst(backups: StoredBackup[]): StoredBackup[] {
  return backups.sort((a, b) => (b.createdAt?.getTime() ?? 0) - (a.createdAt?.getTime() ?? 0))
}

type Remote = Pick<Config['backups'], 's3'>

/** Returns whether a location is an object storage address. */
export function isRemote(place: string): boolean {
  return readObjectAddress(place) !== null
}

/** @throws StartupError without credentials. */
export function openRemote(place: string, { s3 }: Remote): ObjectStore {
  if (s3) return openObjectStore(place, s3)
  throw new StartupError(`S3_ACCESS_KEY_ID: with S3_SECRET_ACCESS_KEY it opens ${place}`)
}

/**
 * Creates a backup in the data folder, uploads it and reads it back; no local copy remains.
 * @throws AppError as `createBackup`, and `unavailable` when the server refuses the upload.
 */
export async function createRemoteBackup(
  { config, clock }: { config: BackupConfig & { backups: Remote & Partial<Config['backups']> }; clock: Clock },
  place: string,
  report: Report,
  prove: (file: string) => Promise<void> = async () => {},
): Promise<CreatedBackup> {
  const store = openRemote(place, config.backups)
  const staging = await openStaging(config.dataDir)
  try {
    const name = toRemoteName(config, clock.now())
    const created = await createBackup({ config, clock }, join(staging.path, name), report)
    await prove(created.file)
    report('sending it')
    await store.put(name, created.file)
    report('reading it back')
    const { sha256 } = await sumStream(store, name)
    if (sha256 !== created.sha256) {
      await store.remove(name)
      throw new AppError('internal', `backup: ${store.locate(name)} is not what was sent`)
    }
    return { ...created, file: store.locate(name) }
  } finally {
    await staging.remove()
  }
}

function toRemoteName({ dataDir, backups }: BackupConfig, createdAt: Date): string {
  const instance = readFileSync(join(dataDir, 'instance.id'), 'utf8').trim()
  const time = createdAt.toISOString().replace(/[:.]/g, '-')
  return `stead-${time}.${instance}.tar${backups?.passphrase === undefined ? '' : '.age'}`
}

async function sumStream(store: ObjectStore, name: string) {
  const summer = createSummer()
  try {
    await pipeline(Readable.from(store.read(name)), summer.through, async (chunks) => {
      for await (const _chunk of chunks);
    })
  } catch (error) {
    throw toStoreError(store.locate(name), error)
  }
  return summer.sum()
}

/** Calls `work` with the local file, or with a temporary download of a remote one. */
export async function withLocalBackup<T>(
  place: string,
  backups: Remote,
  work: (file: string) => Promise<T>,
): Promise<T> {
  if (!isRemote(place)) return work(place)
  const name = basename(place)
  const store = openRemote(place.slice(0, -name.length), backups)
  const folder = await mkdtemp(join(tmpdir(), 'stead-fetched-'))
  try {
    const file = join(folder, name)
    await pipeline(Readable.from(store.read(name)), createWriteStream(file, { mode: 0o600 })).catch((error) => {
      throw toStoreError(place, error)
    })
    return await work(file)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
