import { AppError } from '../../../core/errors.ts'

/** A file at `BACKUP_TO`, listed by name without reading it. `createdAt` is null when the name has no time. */
export type StoredBackup = { name: string; sizeBytes: number; createdAt: Date | null; isSealed: boolean }

/** Storage of backups; `locate` returns the path or address for the CLI. */
export type BackupStore = {
  /** Lists the backups, newest first. @throws AppError `unavailable` when the store cannot be read. */
  list(): Promise<StoredBackup[]>
  read(name: string): ReadableStream<Uint8Array>
  locate(name: string): string
  /** Writes a file, reads it back and deletes it. @throws AppError `invalid` with the reason why that failed. */
  test(signal: AbortSignal): Promise<void>
}

/** Returns one backup. @throws AppError `not_found` */
export async function getStoredBackup(backupStore: BackupStore, name: string): Promise<StoredBackup> {
  const found = (await backupStore.list()).find((backup) => backup.name === name)
  if (!found) throw new AppError('not_found', 'There is no backup of this name')
  return found
}
