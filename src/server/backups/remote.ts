import { createWriteStream, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type ObjectStore, openObjectStore, readObjectAddress, toStoreError } from '../../adapters/objects/s3.ts'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import { AppError, StartupError } from '../../core/errors.ts'
import { createSummer } from './archive.ts'
import { type BackupConfig, type CreatedBackup, createBackup, type Report } from './create.ts'
import { openStaging } from './staging.ts'

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
