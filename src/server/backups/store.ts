import { randomUUID } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type ObjectStore, openObjectStore, readObjectAddress, toStoreError } from '../../adapters/objects/s3.ts'
import { errorCode } from '../../adapters/runtimes/process/files.ts'
import type { Config } from '../../core/config.ts'
import { AppError, errorMessage, StartupError } from '../../core/errors.ts'
import type { BackupShelf, ShelvedBackup } from '../../features/admin/backups/store.ts'
import { createWriteStream, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '../../core/clock.ts'
import { createSummer } from './archive.ts'
import { type BackupConfig, type CreatedBackup, createBackup, type Report } from './create.ts'
import { openStaging } from './staging.ts'

/** The content of a file that tests whether a place can be used. */
const PROBE = 'Written by Stead to test this place for backups.\n'
const BACKUP = /^[\w.-]+\.tar(?:\.age)?$/
const OWN_NAME = /^stead-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z(?:\.[a-z0-9]+)?\.tar(?:\.age)?$/

/** The backups at `BACKUP_TO`, a folder or an address. */
export function createShelf({ to, s3 }: Pick<Config['backups'], 'to' | 's3'>): BackupShelf {
  if (!isRemote(to)) return createFolderShelf(to)
  const store = openStore(to, { s3 })
  return {
    async list() {
      const objects = (await store.list()).filter(({ name }) => BACKUP.test(name))
      return newestFirst(objects.map(({ name, sizeBytes }) => toShelved(name, sizeBytes)))
    },
    read: store.read,
    locate: store.locate,
    test: () => testPlace(to, (name, file) => tryStore(store, name, file)),
  }
}

/** The backups at whatever place `readPlace` names when they are read. */
export function createLiveShelf(readPlace: () => string, { s3 }: Pick<Config['backups'], 's3'>): BackupShelf {
  const open = () => createShelf({ to: readPlace(), s3 })
  return {
    list: () => open().list(),
    read: (name) => open().read(name),
    locate: (name) => open().locate(name),
    test: (signal) => open().test(signal),
  }
}

/** @throws AppError `invalid` without credentials: the place may come from the dashboard, long after the start. */
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
    if (text !== PROBE) throw new Error('what was written there is not what is read')
  } finally {
    await store.remove(name)
  }
}

async function tryFolder(folder: string, name: string, file: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const copy = join(folder, name)
  try {
    await copyFile(file, copy)
    if ((await readFile(copy, 'utf8')) !== PROBE) throw new Error('what was written there is not what is read')
  } finally {
    await rm(copy, { force: true })
  }
}

/** @throws AppError `invalid` with the reason why a place cannot be used. */
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

/** The backups of a folder, which need not be there. */
function createFolderShelf(folder: string): BackupShelf {
  const locate = (name: string) => join(folder, basename(name))
  return {
    async list() {
      try {
        const names = (await readdir(folder)).filter((name) => BACKUP.test(name))
        const listed = await Promise.all(names.map(async (name) => toShelved(name, (await stat(locate(name))).size)))
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

/** When a backup was made, by the name that Stead gives it; null for one that somebody named. */
export function readBackupTime(name: string): Date | null {
  const [, day, hours, minutes, seconds, milliseconds] = OWN_NAME.exec(name) ?? []
  return day === undefined ? null : new Date(`${day}T${hours}:${minutes}:${seconds}.${milliseconds}Z`)
}

function toShelved(name: string, sizeBytes: number): ShelvedBackup {
  return { name, sizeBytes, createdAt: readBackupTime(name), isSealed: name.endsWith('.age') }
}

function newestFirst(backups: ShelvedBackup[]): ShelvedBackup[] {
  return backups.sort((a, b) => (b.createdAt?.getTime() ?? 0) - (a.createdAt?.getTime() ?? 0))
}

type Remote = Pick<Config['backups'], 's3'>

/** Is it an address and no folder? */
export function isRemote(place: string): boolean {
  return readObjectAddress(place) !== null
}

/** @throws StartupError without credentials. */
export function openRemote(place: string, { s3 }: Remote): ObjectStore {
  if (s3) return openObjectStore(place, s3)
  throw new StartupError(`S3_ACCESS_KEY_ID: with S3_SECRET_ACCESS_KEY it opens ${place}`)
}

/**
 * Makes a backup beside the data, sends it, and reads it back: it stands at `place` under its name when it is whole there,
 * and no copy stays here. Its name tells when it was made and of which installation it is.
 * @throws AppError as `createBackup`, and `unavailable` when the server refuses it.
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

/** Does `work` with the file itself, or with a copy in `TMPDIR` of what stands at an address. */
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
