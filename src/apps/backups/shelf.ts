import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { errorCode } from '../../adapters/runtimes/process/files.ts'
import type { Config } from '../../core/config.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { BackupShelf, ShelvedBackup } from '../../features/house/backups/shelf.ts'
import { isRemote, openRemote } from './remote.ts'

const BACKUP = /^[\w.-]+\.tar(?:\.age)?$/
const OWN_NAME = /^stead-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z(?:\.[a-z0-9]+)?\.tar(?:\.age)?$/

/** The backups at `BACKUP_TO`, a folder or an address. */
export function createShelf({ to, s3 }: Pick<Config['backups'], 'to' | 's3'>): BackupShelf {
  if (!isRemote(to)) return createFolderShelf(to)
  const store = openRemote(to, { s3 })
  return {
    async list() {
      const objects = (await store.list()).filter(({ name }) => BACKUP.test(name))
      return newestFirst(objects.map(({ name, sizeBytes }) => toShelved(name, sizeBytes)))
    },
    read: store.read,
    locate: store.locate,
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
