import { constants, fsync, lstatSync, renameSync, rmSync, type Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { AppError } from '../../core/errors.ts'
import { randomText } from '../../core/ids.ts'
import { giveToOwner, type OpenFolder, systemCode } from './open.ts'

// Without O_NONBLOCK opening a pipe would wait for a writer for ever.
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
const CHUNK_BYTES = 64 * 1024
const NEW_FILE_MODE = 0o644
const PERMISSIONS = 0o777

const syncFolder = promisify(fsync)

/** Begins the name of a file that is not complete yet. */
export const TEMPORARY_PREFIX = '.stead-new-'

export type FileBytes = { bytes: Buffer; stat: Stats }

/**
 * Opens a regular file of an open folder for reading. Another name of it may lie outside, so one with several is refused.
 * @throws AppError `invalid` for what is no such file. @throws Error of the system.
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

/** The whole file. @throws AppError `invalid` as `openFile` and above `maxBytes`. @throws Error of the system. */
export async function readFileBytes(folder: OpenFolder, name: string, maxBytes: number): Promise<FileBytes> {
  const { handle, stat } = await openFile(folder, name)
  try {
    return { bytes: await readAtMost(handle, stat.size, maxBytes), stat }
  } finally {
    await handle.close()
  }
}

/** The file as a stream that opens nothing anew; the handle is closed when it ends or is left. */
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
 * Replaces or creates a file as a whole and makes that survive power loss: a temporary neighbour, synced, then renamed.
 * @throws AppError `invalid` when the name is taken by something else. @throws Error of the system.
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

/** Makes a rename or deletion in the folder survive power loss. */
export async function syncEntries(folder: OpenFolder): Promise<void> {
  await syncFolder(folder.fd)
}

/** What the name belongs to, a link itself and not what it names; null when it is free. */
export function findEntry(folder: OpenFolder, name: string): Stats | null {
  try {
    return lstatSync(folder.at(name))
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  }
}

/** A rename would replace a link by a file, silently: links are refused. */
function findReplaceable(folder: OpenFolder, name: string): Stats | null {
  const stat = findEntry(folder, name)
  if (stat && !stat.isFile()) throw new AppError('invalid', 'Not a regular file')
  return stat
}

/** What it held when its size was asked for: a log goes on growing. */
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
