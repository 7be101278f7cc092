import { lstatSync, readlinkSync, unlinkSync } from 'node:fs'
import { constants, open, readdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { inflate } from 'node:zlib'
import { AppError } from '../../core/errors.ts'
import { systemCode } from '../../core/files/system-error.ts'
import { TEMPORARY_PREFIX, writeFileBytes } from '../files/bytes.ts'
import { type FolderRoot, makeFolderIn, type OpenFolder, withFolder } from '../files/open.ts'

const MAX_FILE_BYTES = 64 * 1024 * 1024
const MAX_OBJECT_BYTES = 32 * 1024 * 1024
/** Deflate's maximum compression ratio. */
const MAX_RATIO = 1032
const MAX_OPERATIONS = 400_000
const MAX_MILLISECONDS = 60_000
const MAX_INSIDE = 32
const YIELD_AFTER_MS = 10
const BILLION = 1_000_000_000n

const inflateBytes = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(inflate)

/**
 * Provides a working tree as the file system of isomorphic-git for one operation: follows no links, writes only to
 * `.git`, and limits bytes and time.
 */
export function openGitFiles(root: FolderRoot) {
  const enter = openGate()
  const on = <T>(path: string, use: (folder: OpenFolder, name: string) => T | Promise<T>): Promise<T> =>
    inParent(root, path, enter, use)
  let indexNsSoon: Promise<bigint> | undefined
  const indexTime = () => {
    indexNsSoon ??= on('/.git/index', (folder, name) => lstatSync(folder.at(name), { bigint: true }).mtimeNs).catch(
      () => 0n,
    )
    return indexNsSoon
  }
  const readWhole = (path: string) =>
    on(path, async (folder, name) => {
      const bytes = await readBytes(folder, name)
      if (/^\/\.git\/objects\/[0-9a-f]{2}\//.test(path)) await requireModest(bytes)
      return bytes
    })
  const remembered = new Map<string, Promise<Buffer>>()
  const remember = (path: string) => {
    const soon = remembered.get(path) ?? readWhole(path)
    remembered.set(path, soon)
    return soon
  }
  return {
    promises: {
      readFile: async (path: string, options?: { encoding?: string } | string) => {
        // Cached because isomorphic-git reads ignore files again for every untracked file.
        const bytes = await (/\/(?:\.gitignore|info\/exclude)$/.test(path) ? remember(path) : readWhole(path))
        return encodingOf(options) ? bytes.toString('utf8') : bytes
      },
      writeFile: (path: string, data: Uint8Array | string) =>
        on(requireGitPath(path), (folder, name) => writeFileBytes(folder, name, Buffer.from(data))),
      unlink: (path: string) => on(requireGitPath(path), (folder, name) => unlinkSync(folder.at(name))),
      readdir: (path: string) =>
        on(`${path}/.`, async (folder) =>
          (await readdir(folder.at('.'))).filter((name) => !name.startsWith(TEMPORARY_PREFIX)),
        ),
      mkdir: (path: string) => on(requireGitPath(path), (folder, name) => makeFolderIn(folder, name)),
      rmdir: (path: string) => refuse(path),
      rm: (path: string) => refuse(path),
      symlink: (_target: string, path: string) => refuse(path),
      chmod: (path: string) => refuse(path),
      // Links are never followed.
      stat: (path: string) => on(path, (folder, name) => lstatSync(folder.at(name))),
      lstat: async (path: string) => {
        const indexNs = await indexTime()
        return on(path, (folder, name) => statExactly(folder.at(name), indexNs))
      },
      readlink: (path: string) => on(path, (folder, name) => readlinkSync(folder.at(name), { encoding: 'buffer' })),
    },
  }
}

/** Returns whether `.git` is a folder inside the working tree; a link or a file would point elsewhere. */
export async function isRepository(root: FolderRoot): Promise<boolean> {
  try {
    return await withFolder(root, ['.git'], (folder) => lstatSync(folder.at('HEAD')).isFile())
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(systemCode(error) ?? '')) return false
    throw error
  }
}

/**
 * Returns whether the root has a usable `.git` entry; a folder without HEAD is left by an interrupted `git init` and
 * does not count.
 * @throws AppError `not_found` when the root is missing.
 */
export async function hasGitEntry(root: FolderRoot): Promise<boolean> {
  try {
    const entry = await withFolder(root, [], (folder) => lstatSync(folder.at('.git'), { throwIfNoEntry: false }))
    return entry?.isDirectory() ? await isRepository(root) : entry !== undefined
  } catch (error) {
    if (systemCode(error) === 'ENOENT') throw new AppError('not_found', 'These files do not exist yet')
    throw error
  }
}

async function inParent<T>(
  root: FolderRoot,
  path: string,
  enter: () => Promise<() => void>,
  use: (folder: OpenFolder, name: string) => T | Promise<T>,
): Promise<T> {
  const parts = toParts(path)
  const name = path.endsWith('/.') ? '.' : (parts.pop() ?? '.')
  const leave = await enter()
  try {
    return await withFolder(root, parts, (folder) => use(folder, name))
  } catch (error) {
    // Treats a link or a socket as a missing file.
    if (['ELOOP', 'ENXIO'].includes(systemCode(error) ?? '')) throw codedError('ENOENT')
    throw error
  } finally {
    leave()
  }
}

function codedError(code: string): Error {
  return Object.assign(new Error(code), { code })
}

/**
 * Keeps nanoseconds like Git. A file changed at or after the index write may have matching times, so it gets an unknown
 * inode that forces a content comparison.
 */
function statExactly(path: string, indexNs: bigint) {
  const exact = lstatSync(path, { bigint: true })
  return {
    mtimeSeconds: Number(exact.mtimeNs / BILLION),
    mtimeNanoseconds: Number(exact.mtimeNs % BILLION),
    ctimeSeconds: Number(exact.ctimeNs / BILLION),
    ctimeNanoseconds: Number(exact.ctimeNs % BILLION),
    dev: Number(exact.dev),
    ino: exact.mtimeNs >= indexNs ? 0 : Number(exact.ino),
    mode: Number(exact.mode),
    uid: Number(exact.uid),
    gid: Number(exact.gid),
    size: Number(exact.size),
    isFile: () => exact.isFile(),
    isDirectory: () => exact.isDirectory(),
    isSymbolicLink: () => exact.isSymbolicLink(),
  }
}

/** Treats a path with `..` from the repository as missing. */
function toParts(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..') || path.includes('\0'))
    throw new AppError('invalid', 'The repository names a path outside it')
  return parts
}

function requireGitPath(path: string): string {
  if (toParts(path)[0] !== '.git') throw new AppError('internal', 'Git writes to its own files only')
  return path
}

function refuse(path: string): Promise<never> {
  return Promise.reject(new AppError('internal', `Not done to files of a repository: ${path}`))
}

/** Hard links are allowed here because local clones share object files. */
async function readBytes(folder: OpenFolder, name: string): Promise<Buffer> {
  const handle = await open(folder.at(name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stat = await handle.stat()
    if (stat.isDirectory()) throw codedError('EISDIR')
    if (!stat.isFile()) throw codedError('ENOENT')
    if (stat.size > MAX_FILE_BYTES) throw new AppError('internal', `Too large for Git here: ${name}`)
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

/** Rejects large objects before isomorphic-git inflates them without a limit. @throws AppError `internal`. */
async function requireModest(bytes: Buffer): Promise<void> {
  if (bytes.length * MAX_RATIO <= MAX_OBJECT_BYTES) return
  try {
    await inflateBytes(bytes, { maxOutputLength: MAX_OBJECT_BYTES })
  } catch (error) {
    if (systemCode(error) === 'ERR_BUFFER_TOO_LARGE') throw new AppError('internal', 'An object of Git is too large')
    throw error
  }
}

/**
 * Limits concurrency, count and time of file operations, since a tree walk opens many files at once; the returned
 * function releases the slot.
 */
function openGate(): () => Promise<() => void> {
  const endMs = performance.now() + MAX_MILLISECONDS
  const waiting: (() => void)[] = []
  let inside = 0
  let operations = 0
  let turnMs = performance.now()
  const leave = () => {
    const next = waiting.shift()
    if (next) next()
    else inside -= 1
  }
  return async () => {
    if (inside < MAX_INSIDE) inside += 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    const nowMs = performance.now()
    operations += 1
    if (operations > MAX_OPERATIONS || nowMs > endMs) {
      leave()
      throw new AppError('internal', 'The repository is too large')
    }
    if (nowMs - turnMs >= YIELD_AFTER_MS) {
      turnMs = nowMs
      await new Promise((resolve) => setImmediate(resolve))
    }
    return leave
  }
}

function encodingOf(options: { encoding?: string } | string | undefined): string | undefined {
  return typeof options === 'string' ? options : options?.encoding
}
