import { existsSync } from 'node:fs'
import { rm, stat, statfs } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import { AppError } from '../../core/errors.ts'
import { requireWritableFolder } from '../../core/files/ownership.ts'
import type { BackupKeep } from '../../core/settings/backups.ts'
import { flush, type Manifest } from './archive.ts'
import { type BackupConfig, type CreatedBackup, createBackup, type Report } from './create.ts'
import { openStaging } from './staging.ts'
import { createRemoteBackup, isRemote, openRemote } from './store.ts'
import { listBackups, verifyBackup } from './verify.ts'

export type RunConfig = BackupConfig & Pick<Config, 'backups' | 'minFreeDiskBytes'>
/** A verified backup, and the older files that the retention policy deleted. */
export type BackupRun = CreatedBackup & { verifiedAt: string; removed: string[] }

/** Names that `createBackup` gives; files with other names are never deleted. */
const OWN_NAME = /^stead-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z(?:\.([a-z0-9]+))?\.tar(?:\.age)?$/

/**
 * Creates and verifies a backup at `BACKUP_TO`, then deletes those of this installation that `BACKUP_KEEP` does not
 * keep.
 * @throws AppError `unavailable` without enough disk space, `internal` when the new backup is damaged; it is deleted.
 */
export async function runBackup(
  { config, clock }: { config: RunConfig; clock: Clock },
  report: Report = () => {},
): Promise<BackupRun> {
  const { to, keep } = config.backups
  if (isRemote(to)) return runRemote({ config, clock }, report)
  requireWritableFolder('BACKUP_TO', to, config.dataDir)
  await requireSpace(config, to)
  const created = await createBackup({ config, clock }, to, report)
  report('proving the backup')
  const manifest = await prove(config, created.file)
  const verifiedAt = clock.now().toISOString()
  const known = await listOwn(to, manifest.instance)
  const removed = listOutdated(known, keep).map(({ file }) => file)
  for (const file of removed) await rm(file, { force: true })
  if (removed.length > 0) await flush(dirname(created.file))
  return { ...created, verifiedAt, removed }
}

/**
 * Does the same for object storage: the backup is verified before the upload and compared after it; names identify the
 * installation.
 */
async function runRemote({ config, clock }: { config: RunConfig; clock: Clock }, report: Report): Promise<BackupRun> {
  const { to, keep } = config.backups
  await requireSpace(config, config.dataDir)
  const created = await createRemoteBackup(
    { config, clock },
    to,
    report,
    async (file) => void (await prove(config, file)),
  )
  const verifiedAt = clock.now().toISOString()
  const store = openRemote(to, config.backups)
  const instance = readOwnName(created.file)?.instance
  const own = (await store.list()).flatMap(({ name }) => {
    const found = readOwnName(name)
    return found && found.instance === instance ? [{ name, createdAt: found.createdAt }] : []
  })
  const removed = listOutdated(own, keep).map(({ name }) => name)
  for (const name of removed) await store.remove(name)
  return { ...created, verifiedAt, removed: removed.map(store.locate) }
}

/** Verifies a new backup. @throws AppError `internal` when it is damaged; it is deleted. */
async function prove({ dataDir, encryptionKey, backups }: RunConfig, file: string): Promise<Manifest> {
  const staging = await openStaging(dataDir)
  const keys = { givenKey: encryptionKey ?? null, passphrase: backups.passphrase ?? null }
  const { manifest, problems } = await verifyBackup(file, keys.givenKey, keys.passphrase, staging.path).finally(
    staging.remove,
  )
  if (manifest !== null && problems.length === 0) return manifest
  await rm(file, { force: true })
  throw new AppError('internal', `backup: what was written cannot be read back: ${problems.join('; ')}`)
}

/** Returns the time and, if present, the installation from a backup's name; null for a name that Stead did not give. */
function readOwnName(file: string): { createdAt: string; instance: string | undefined } | null {
  const [, day, hours, minutes, seconds, milliseconds, instance] = OWN_NAME.exec(basename(file)) ?? []
  return day === undefined ? null : { createdAt: `${day}T${hours}:${minutes}:${seconds}.${milliseconds}Z`, instance }
}

/** Lists the backups of this installation: a plain one is identified by its manifest, a sealed one by its name. */
async function listOwn(folder: string, instance: string): Promise<{ file: string; createdAt: string }[]> {
  const listed = await listBackups(folder)
  return listed.flatMap(({ file, manifest }) => {
    const found = readOwnName(file)
    if (found === null || (manifest?.instance ?? found.instance) !== instance) return []
    return [{ file, createdAt: found.createdAt }]
  })
}

/**
 * Checks free space: the data folder temporarily holds the database copy, its compressed form and the archive; `to`
 * holds the finished archive.
 */
async function requireSpace(config: RunConfig, to: string): Promise<void> {
  const { dataDir, databaseFile } = config
  if (!existsSync(databaseFile)) return
  const { size: databaseBytes } = await stat(databaseFile)
  const [last] = (await listBackups(to)).slice(-1)
  const lastBytes = last?.bytes ?? 0
  const isSameDisk = (await stat(to)).dev === (await stat(dataDir)).dev
  await requireFree(config, dataDir, 2 * (databaseBytes + lastBytes))
  if (!isSameDisk) await requireFree(config, to, Math.max(databaseBytes, lastBytes))
}

async function requireFree({ minFreeDiskBytes }: RunConfig, folder: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const freeBytes = bavail * bsize
  if (freeBytes - neededBytes >= minFreeDiskBytes) return
  const toMegabytes = (bytes: number) => Math.ceil(bytes / 1024 ** 2)
  throw new AppError(
    'unavailable',
    `backup: ${toMegabytes(freeBytes)} MB are free at ${folder}; it takes ${toMegabytes(neededBytes)} MB, and MIN_FREE_DISK_MB stays free`,
  )
}

const DAY_MS = 86_400_000
/** 1970-01-05 was a Monday. */
const FIRST_MONDAY = 4

type Dated = { createdAt: string }

/**
 * Returns the backups to delete: all but the newest of each of the last N days, weeks (from Monday) and months in UTC.
 * The newest backup is always kept.
 */
export function listOutdated<T extends Dated>(backups: readonly T[], keep: BackupKeep): T[] {
  const newestFirst = backups.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
  const kept = new Set(newestFirst.slice(0, 1))
  const rules = [
    [keep.days, toDay],
    [keep.weeks, (backup: Dated) => Math.floor((toDay(backup) - FIRST_MONDAY) / 7)],
    [keep.months, ({ createdAt }: Dated) => createdAt.slice(0, 7)],
  ] as const
  for (const [count, toPeriod] of rules) {
    const periods = new Set<string | number>()
    for (const backup of newestFirst) {
      const period = toPeriod(backup)
      if (periods.has(period) || periods.size === count) continue
      periods.add(period)
      kept.add(backup)
    }
  }
  return newestFirst.filter((backup) => !kept.has(backup))
}

function toDay({ createdAt }: Dated): number {
  return Math.floor(Date.parse(createdAt) / DAY_MS)
}
