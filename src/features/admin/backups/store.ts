import { AppError } from '../../../core/errors.ts'

/** A file at `BACKUP_TO`, by its name alone: nothing of it was read. `createdAt` is null when the name does not tell. */
export type StoredBackup = { name: string; sizeBytes: number; createdAt: Date | null; isSealed: boolean }

/** Where backups are kept. `locate` is what the command line calls one. */
export type BackupStore = {
  /** The newest first. @throws AppError `unavailable` when it cannot be looked at. */
  list(): Promise<StoredBackup[]>
  read(name: string): ReadableStream<Uint8Array>
  locate(name: string): string
  /** Writes a file, reads it back and deletes it. @throws AppError `invalid` with the reason why that failed. */
  test(signal: AbortSignal): Promise<void>
}

/** @throws AppError `not_found` for every name that does not stand there. */
export async function getStoredBackup(backupStore: BackupStore, name: string): Promise<StoredBackup> {
  const found = (await backupStore.list()).find((backup) => backup.name === name)
  if (!found) throw new AppError('not_found', 'There is no backup of this name')
  return found
}
