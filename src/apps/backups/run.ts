import { existsSync } from 'node:fs'
import { mkdir, rm, stat, statfs } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import { AppError } from '../../core/errors.ts'
import { flush } from './archive.ts'
import { type BackupConfig, type CreatedBackup, createBackup, type Report } from './create.ts'
import { listOutdated } from './retention.ts'
import { listBackups, verifyBackup } from './verify.ts'

export type RunConfig = BackupConfig & Pick<Config, 'backups' | 'minFreeDiskBytes'>
/** What a run made, after it was taken apart and proved, and the files that went for it. */
export type BackupRun = CreatedBackup & { verifiedAt: string; removed: string[] }

/** The names that `create` gives: a file that somebody named is not deleted. */
const OWN_NAME = /^stead-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z(?:\.tar|\.([a-z0-9]+)\.tar\.age)$/

/**
 * Makes a backup at `BACKUP_TO`, proves it, and only then deletes those of this installation that `BACKUP_KEEP` does not keep.
 * @throws AppError `unavailable` when the disk has not the space, `internal` when what was made is not whole: it is deleted.
 */
export async function runBackup(
  { config, clock }: { config: RunConfig; clock: Clock },
  report: Report = () => {},
): Promise<BackupRun> {
  const { to, keep } = config.backups
  await mkdir(to, { recursive: true, mode: 0o700 })
  await requireSpace(config)
  const created = await createBackup({ config, clock }, to, report)
  report('proving the backup')
  const { manifest, problems } = await verifyBackup(
    created.file,
    config.encryptionKey ?? null,
    config.backups.passphrase ?? null,
  )
  if (manifest === null || problems.length > 0) {
    await rm(created.file, { force: true })
    throw new AppError('internal', `backup: what was written cannot be read back: ${problems.join('; ')}`)
  }
  const verifiedAt = clock.now().toISOString()
  const known = await listOwn(to, manifest.instance)
  const removed = listOutdated(known, keep).map(({ file }) => file)
  for (const file of removed) await rm(file, { force: true })
  if (removed.length > 0) await flush(dirname(created.file))
  return { ...created, verifiedAt, removed }
}

/** Those of this installation: a plain one says so in its manifest, a sealed one in its name. */
async function listOwn(folder: string, instance: string): Promise<{ file: string; createdAt: string }[]> {
  const listed = await listBackups(folder)
  return listed.flatMap(({ file, manifest }) => {
    const [, day, hours, minutes, seconds, milliseconds, sealedBy] = OWN_NAME.exec(basename(file)) ?? []
    if (day === undefined || (manifest?.instance ?? sealedBy) !== instance) return []
    return [{ file, createdAt: `${day}T${hours}:${minutes}:${seconds}.${milliseconds}Z` }]
  })
}

/** The copy of the database, its compressed form and the archive stand beside each other for a while. */
async function requireSpace({ databaseFile, backups: { to }, minFreeDiskBytes }: RunConfig): Promise<void> {
  if (!existsSync(databaseFile)) return
  const { bavail, bsize } = await statfs(to)
  const sizes = await Promise.all([
    stat(databaseFile),
    ...(await listBackups(to)).slice(-1).map(({ file }) => stat(file)),
  ])
  const neededBytes = 2 * sizes.reduce((sum, { size }) => sum + size, 0)
  const freeBytes = bavail * bsize
  if (freeBytes - neededBytes >= minFreeDiskBytes) return
  const toMegabytes = (bytes: number) => Math.ceil(bytes / 1024 ** 2)
  throw new AppError(
    'unavailable',
    `backup: ${toMegabytes(freeBytes)} MB are free at ${to}; it takes ${toMegabytes(neededBytes)} MB, and MIN_FREE_DISK_MB stays free`,
  )
}
