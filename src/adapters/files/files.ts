import { lstatSync, renameSync, rmdirSync } from 'node:fs'
import { readdir, unlink } from 'node:fs/promises'
import { AppError } from '../../core/errors.ts'
import { systemCode } from '../../core/files/system-error.ts'
import { findEntry, openFile, readFileBytes, streamFile, syncEntries, writeFileBytes } from './bytes.ts'
import {
  type FolderRoot,
  makeFolderIn,
  type OpenFolder,
  requireWritable,
  toParts,
  withEntry,
  withFolder,
  withMadeFolder,
} from './open.ts'

/** Largest file that the file explorer opens. */
const MAX_READ_BYTES = 1024 * 1024
const MAX_LEVELS = 64

export type ReadFile = { path: string; content: string; size: number; modified: Date; hash: string }
export type FileAfterWrite = { path: string; size: number; hash: string }

/**
 * Returns a text file of at most 1 MB and its hash for a conditional `writeFile`.
 * @throws AppError `invalid` for a bad path or another kind of file, `not_found`.
 */
export function readTextFile(root: FolderRoot, path: string): Promise<ReadFile> {
  return at(root, path, withFolder, async (folder, name) => {
    const { bytes, stat } = await readFileBytes(folder, name, MAX_READ_BYTES)
    return { path, content: decode(bytes), size: bytes.length, modified: stat.mtime, hash: toHash(bytes) }
  })
}

/** Streams a file of any size. @throws AppError `invalid`, `not_found`. */
export function downloadFile(root: FolderRoot, path: string) {
  return at(root, path, withFolder, async (folder, name) => {
    const { handle, stat } = await openFile(folder, name)
    return { name, size: stat.size, body: streamFile(handle, stat.size) }
  })
}

/**
 * Replaces or creates a file with its parent folders. `ifMatch` is the expected hash, or null when the file must not
 * exist.
 * @throws AppError `invalid`, `conflict` FILE_CHANGED.
 */
export function writeFile(
  root: FolderRoot,
  path: string,
  bytes: Uint8Array,
  ifMatch?: string | null,
): Promise<FileAfterWrite> {
  requireWritable(toParts(path))
  return at(root, path, withMadeFolder, async (folder, name) => {
    if (ifMatch !== undefined) await requireHash(folder, name, ifMatch)
    await writeFileBytes(folder, name, bytes)
    return { path, size: bytes.length, hash: toHash(bytes) }
  })
}

/** Creates a folder with its parents; succeeds when it exists. @throws AppError `invalid`. */
export async function makeFolder(root: FolderRoot, path: string): Promise<void> {
  requireWritable(toParts(path))
  await at(root, path, withMadeFolder, async (folder, name) => {
    if (!findEntry(folder, name)) makeFolderIn(folder, name)
    if (!lstatSync(folder.at(name)).isDirectory()) throw new AppError('conflict', 'There is a file of this name')
    await syncEntries(folder)
  })
}

/** Moves a file or folder. @throws AppError `invalid`, `not_found`, `conflict` when the new path exists. */
export async function renameEntry(root: FolderRoot, from: string, to: string): Promise<void> {
  requireWritable(toParts(from))
  requireWritable(toParts(to))
  await at(root, from, withFolder, async (source, oldName) => {
    requireFileOrFolder(source, oldName)
    await at(root, to, withMadeFolder, async (target, newName) => {
      if (findEntry(target, newName)) throw new AppError('conflict', 'The new path is taken')
      renameSync(source.at(oldName), target.at(newName))
      await syncEntries(target)
    })
    await syncEntries(source)
  })
}

/** Deletes a file, or a folder recursively. @throws AppError `invalid`, `not_found`. */
export async function deleteEntry(root: FolderRoot, path: string): Promise<void> {
  requireWritable(toParts(path))
  await at(root, path, withFolder, async (folder, name) => {
    if (!findEntry(folder, name)) throw new AppError('not_found', `There is no ${path}`)
    await deleteBelow(folder, name)
    await syncEntries(folder)
  })
}

/** Opens the parent folder of `path` and converts system errors to AppErrors. */
async function at<T>(
  root: FolderRoot,
  path: string,
  openFolder: typeof withFolder,
  use: (folder: OpenFolder, name: string) => Promise<T>,
): Promise<T> {
  const parts = toParts(path)
  const name = parts.pop()
  if (name === undefined) throw new AppError('invalid', 'Not a regular file')
  try {
    return await openFolder(root, parts, (folder) => use(folder, name))
  } catch (error) {
    throw toFileError(error, path)
  }
}

/** Deletes a link, not its target. Limits the depth because each level keeps a file descriptor open. */
async function deleteBelow(folder: OpenFolder, name: string, levels = MAX_LEVELS): Promise<void> {
  if (!findEntry(folder, name)?.isDirectory()) return unlink(folder.at(name))
  if (levels === 0) throw new AppError('invalid', `The folder holds more than ${MAX_LEVELS} others in each other`)
  await withEntry(folder, name, async (inner) => {
    for (const entry of await readdir(inner.at('.'))) await deleteBelow(inner, entry, levels - 1)
  })
  rmdirSync(folder.at(name))
}

async function requireHash(folder: OpenFolder, name: string, expected: string | null): Promise<void> {
  const isThere = findEntry(folder, name) !== null
  const actual = isThere ? toHash((await readFileBytes(folder, name, MAX_READ_BYTES)).bytes) : null
  if (actual !== expected) {
    throw new AppError('conflict', 'The file has changed since it was read', { code: 'FILE_CHANGED', hash: actual })
  }
}

function requireFileOrFolder(folder: OpenFolder, name: string): void {
  const stat = lstatSync(folder.at(name))
  if (!stat.isFile() && !stat.isDirectory()) throw new AppError('invalid', 'Not a regular file')
}

function toHash(bytes: Uint8Array): string {
  return Bun.CryptoHasher.hash('sha256', bytes, 'hex')
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw new AppError('invalid', 'Not a text file: download it', { code: 'BINARY_FILE' }, { cause: error })
  }
}

/** Converts system errors about a path to AppErrors; returns all others unchanged. */
export function toFileError(error: unknown, path: string): unknown {
  switch (systemCode(error)) {
    case 'ENOENT':
      return new AppError('not_found', `There is no ${path}`)
    case 'ENOTDIR':
    case 'ELOOP':
    case 'ENXIO':
    case 'EISDIR':
      return new AppError('invalid', `Not a regular file or folder: ${path}`)
    case 'EINVAL':
      return new AppError('invalid', 'A folder cannot move into itself')
    case 'EEXIST':
    case 'ENOTEMPTY':
      return new AppError('conflict', 'The path was taken meanwhile')
    case 'ENAMETOOLONG':
      return new AppError('invalid', 'The path is too long')
    case 'EACCES':
    case 'EPERM':
      return new AppError('forbidden', `No permission for ${path}`)
    case 'ENOSPC':
    case 'EDQUOT':
      return new AppError('storage_full', 'The server has no room left. Please try again later.', { code: 'DISK_FULL' })
    default:
      return error
  }
}
