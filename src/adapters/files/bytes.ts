import { constants, fsync, lstatSync, renameSync, rmSync, type Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { AppError } from '../../core/errors.ts'
import { systemCode } from '../../core/files/system-error.ts'
import { randomText } from '../../core/ids.ts'
import { giveToOwner, type OpenFolder } from './open.ts'

// Without O_NONBLOCK, opening a named pipe would block until a writer appears.
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
const CHUNK_BYTES = 64 * 1024
const NEW_FILE_MODE = 0o644
const PERMISSIONS = 0o777

const syncFolder = promisify(fsync)

/** Prefix of files that are not completely written yet. */
export const TEMPORARY_PREFIX = '.stead-new-'

type FileBytes = { bytes: Buffer; stat: Stats }

/**
 * Opens a regular file for reading; files with several hard links are refused because the other link may be outside.
 * @throws AppError `invalid`, or the system's error.
 */
export async function openFile(folder: OpenFolder, name: string): Promise<{ handle: FileHandle; stat: Stats }> {
  const handle = await open(folder.at(name), READ)
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw new AppError('invalid', 'Not a regular file')
    if (stat.nlink > 1) throw new AppError('invalid', 'Not a regular file: it has several names')
    return { handle, stat }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Returns the whole file. @throws AppError `invalid` as `openFile` and above `maxBytes`, or the system's error. */
export async function readFileBytes(folder: OpenFolder, name: string, maxBytes: number): Promise<FileBytes> {
  const { handle, stat } = await openFile(folder, name)
  try {
    return { bytes: await readAtMost(handle, stat.size, maxBytes), stat }
  } finally {
    await handle.close()
  }
}

/** Streams an open file and closes the handle at the end or on cancel. */
export function streamFile(handle: FileHandle, sizeBytes: number): ReadableStream<Uint8Array> {
  let position = 0
  return new ReadableStream({
    async pull(controller) {
      const wanted = Math.min(CHUNK_BYTES, sizeBytes - position)
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(wanted), 0, wanted, position)
      position += bytesRead
      if (bytesRead > 0) controller.enqueue(buffer.subarray(0, bytesRead))
      if (bytesRead === 0 || position >= sizeBytes) {
        await handle.close()
        controller.close()
      }
    },
    cancel: () => handle.close(),
  })
}

/**
 * Replaces or creates a file atomically and durably: writes a temporary file, syncs it and renames it.
 * @throws AppError `invalid` when the name belongs to something else, or the system's error.
 */
export async function writeFileBytes(folder: OpenFolder, name: string, bytes: Uint8Array): Promise<void> {
  const mode = findReplaceable(folder, name)?.mode ?? NEW_FILE_MODE
  const temporary = `${TEMPORARY_PREFIX}${randomText(12)}`
  try {
    const handle = await open(folder.at(temporary), CREATE, mode & PERMISSIONS)
    try {
      giveToOwner(handle.fd, folder)
      await handle.writeFile(bytes)
      await handle.sync()
    } finally {
      await handle.close()
    }
    renameSync(folder.at(temporary), folder.at(name))
  } catch (error) {
    rmSync(folder.at(temporary), { force: true })
    throw error
  }
  await syncFolder(folder.fd)
}

/** Syncs the folder so that renames and deletions survive a power loss. */
export async function syncEntries(folder: OpenFolder): Promise<void> {
  await syncFolder(folder.fd)
}

/** Returns the entry's stats without following links, or null when the name is free. */
export function findEntry(folder: OpenFolder, name: string): Stats | null {
  try {
    return lstatSync(folder.at(name))
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  }
}

/** Rejects links, because a rename would silently replace the link by a file. */
function findReplaceable(folder: OpenFolder, name: string): Stats | null {
  const stat = findEntry(folder, name)
  if (stat && !stat.isFile()) throw new AppError('invalid', 'Not a regular file')
  return stat
}

/** Reads only the size measured at opening, because a log file keeps growing. */
async function readAtMost(handle: FileHandle, sizeBytes: number, maxBytes: number): Promise<Buffer> {
  if (sizeBytes > maxBytes) throw tooLarge(maxBytes)
  const buffer = Buffer.alloc(sizeBytes)
  let filled = 0
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

function tooLarge(maxBytes: number): AppError {
  return new AppError('invalid', `File larger than ${Math.floor(maxBytes / (1024 * 1024))} MB`)
}
