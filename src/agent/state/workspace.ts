import { constants, type Dirent } from 'node:fs'
import { lstat, mkdir, open, readdir, realpath } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { AppError } from '../../core/errors.ts'
import { systemCode, writeAtomically } from './files.ts'

const MAX_FILE_BYTES = 1024 * 1024
const MAX_LISTED = 500
const MAX_PATH_CHARS = 512

/** Text files an agent may keep, at most 1 MB each. Paths are relative, with `/`; what leaves the folder is `invalid`. */
export type Workspace = {
  /** Files below `folder`, at most 500; links are not followed. `isComplete` tells whether that was all. */
  list(folder: string): Promise<{ files: { path: string; sizeBytes: number }[]; isComplete: boolean }>
  /** @throws AppError `not_found`, `invalid` for a bad path or binary, `too_large`. */
  read(path: string): Promise<string>
  /** Replaces the file as a whole; makes the folders it needs. @throws AppError `invalid`, `too_large`. */
  write(path: string, text: string): Promise<{ sizeBytes: number }>
}

export function createWorkspace(root: string): Workspace {
  return {
    async list(folder) {
      const top = await toRealPath(root, folder)
      return listBelow(await realpath(root), top)
    },
    async read(path) {
      return readTextFile(await toRealPath(root, path), path)
    },
    async write(path, text) {
      const sizeBytes = Buffer.byteLength(text)
      if (sizeBytes > MAX_FILE_BYTES) throw new AppError('too_large', 'A file has at most 1 MB')
      const parts = toParts(path)
      const name = parts.pop()
      if (name === undefined) throw new AppError('invalid', 'The path names no file')
      const folder = await makeFolders(root, parts)
      await requireReplaceable(join(folder, name), path)
      await writeAtomically(join(folder, name), text)
      return { sizeBytes }
    },
  }
}

/** The rules that need no disk: relative, no `..`, no NUL, no backslash that another system takes for a separator. */
function toParts(path: string): string[] {
  const isBad =
    path.length > MAX_PATH_CHARS || path.startsWith('/') || /[\0\\]/.test(path) || path.split('/').includes('..')
  if (isBad) throw new AppError('invalid', `Not a path inside the workspace: ${JSON.stringify(path.slice(0, 100))}`)
  return path.split('/').filter((part) => part !== '' && part !== '.')
}

/** Follows links and then looks where they led. */
async function toRealPath(root: string, path: string): Promise<string> {
  const wanted = join(root, ...toParts(path))
  try {
    return await requireInside(root, await realpath(wanted), path)
  } catch (error) {
    throw toPathError(error, path)
  }
}

/** One folder at a time, each checked before the next is made inside it. */
async function makeFolders(root: string, parts: string[]): Promise<string> {
  let folder = await realpath(root)
  try {
    for (const part of parts) folder = await makeFolder(root, join(folder, part))
  } catch (error) {
    throw toPathError(error, parts.join('/'))
  }
  return folder
}

async function makeFolder(root: string, path: string): Promise<string> {
  try {
    await mkdir(path)
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
  }
  return requireInside(root, await realpath(path), relative(root, path))
}

async function requireInside(root: string, realTarget: string, path: string): Promise<string> {
  const realRoot = await realpath(root)
  if (realTarget === realRoot || realTarget.startsWith(realRoot + sep)) return realTarget
  throw new AppError('invalid', `Not a path inside the workspace: ${JSON.stringify(path)}`)
}

/** A rename would replace a link by a file, silently: links and folders are refused. */
async function requireReplaceable(target: string, path: string): Promise<void> {
  try {
    if (!(await lstat(target)).isFile()) throw new AppError('invalid', `Not a regular file: ${path}`)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return
    throw toPathError(error, path)
  }
}

async function readTextFile(realTarget: string, path: string): Promise<string> {
  // Without O_NONBLOCK opening a pipe would wait for a writer for ever.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const handle = await open(realTarget, flags).catch((error: unknown) => {
    throw toPathError(error, path)
  })
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw new AppError('invalid', `Not a regular file: ${path}`)
    if (stat.size > MAX_FILE_BYTES) throw new AppError('too_large', `Larger than 1 MB: ${path}`)
    return decodeUtf8(await handle.readFile(), path)
  } finally {
    await handle.close()
  }
}

function decodeUtf8(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new AppError('invalid', `Not a text file: ${path}`, {}, { cause: error })
  }
}

async function listBelow(realRoot: string, top: string) {
  const files: { path: string; sizeBytes: number }[] = []
  const folders = [top]
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    for (const entry of await readFolder(folder)) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) folders.push(path)
      if (!entry.isFile()) continue
      if (files.length === MAX_LISTED) return { files, isComplete: false }
      files.push({ path: relative(realRoot, path), sizeBytes: (await lstat(path)).size })
    }
  }
  return { files, isComplete: true }
}

async function readFolder(folder: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries.sort((a, b) => a.name.localeCompare(b.name))
  } catch (error) {
    throw toPathError(error, basename(folder))
  }
}

function toPathError(error: unknown, path: string): unknown {
  const code = systemCode(error)
  if (code === 'ENOENT') return new AppError('not_found', `There is no ${path || dirname(path)}`)
  if (code === 'ENOTDIR') return new AppError('invalid', `Not a folder: ${path}`)
  if (code === 'ELOOP') return new AppError('invalid', `Not a path inside the workspace: ${path}`)
  if (code === 'ENAMETOOLONG') return new AppError('invalid', 'The path is too long')
  return error
}
