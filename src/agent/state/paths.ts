import { lstat, mkdir, realpath } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { AppError } from '../../core/errors.ts'
import { systemCode } from '../../core/files/system-error.ts'
import { isGitName } from '../../core/text/names.ts'

const MAX_PATH_CHARS = 512

/** Splits a relative path. Rejects `..`, NUL and backslashes, which other systems treat as separators. */
export function toPathParts(path: string): string[] {
  const isBad =
    path.length > MAX_PATH_CHARS || path.startsWith('/') || /[\0\\]/.test(path) || path.split('/').includes('..')
  if (isBad) throw new AppError('invalid', `Not a path inside the workspace: ${JSON.stringify(path.slice(0, 100))}`)
  return path.split('/').filter((part) => part !== '' && part !== '.')
}

/**
 * Returns the parts of a path to write to. Rejects files of `.git`, because the platform runs Git with their settings.
 * @throws AppError `invalid`
 */
export function toWritableParts(path: string): string[] {
  const parts = toPathParts(path)
  requireNoGit(parts)
  return parts
}

function requireNoGit(parts: readonly string[]): void {
  if (parts.some(isGitName)) throw new AppError('invalid', 'The files of Git cannot be changed by this tool')
}

/** Resolves the path of a file to move. @throws AppError as `toRealPath`, and `invalid` for files of Git. */
export async function toMovablePath(root: string, path: string): Promise<string> {
  const source = await toRealPath(root, path)
  requireNoGit(relative(await realpath(root), source).split(sep))
  return source
}

/** Resolves links and requires the target to be inside the workspace. @throws AppError `invalid`, `not_found`. */
export async function toRealPath(root: string, path: string): Promise<string> {
  const wanted = join(root, ...toPathParts(path))
  try {
    return await requireInside(root, await realpath(wanted), path)
  } catch (error) {
    throw toPathError(error, path)
  }
}

/**
 * Creates folders one by one and checks each before the next.
 * @throws AppError `invalid` for a link that leads outside or to files of Git.
 */
export async function makeFolders(root: string, parts: string[]): Promise<string> {
  const realRoot = await realpath(root)
  let folder = realRoot
  try {
    for (const part of parts) {
      folder = await makeFolder(root, join(folder, part))
      requireNoGit(relative(realRoot, folder).split(sep))
    }
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

/** Rejects links and folders, which a rename would replace silently. */
export async function requireReplaceable(target: string, path: string): Promise<void> {
  try {
    if (!(await lstat(target)).isFile()) throw new AppError('invalid', `Not a regular file: ${path}`)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return
    throw toPathError(error, path)
  }
}

export function toPathError(error: unknown, path: string): unknown {
  const code = systemCode(error)
  if (code === 'ENOENT') return new AppError('not_found', `There is no ${path || dirname(path)}`)
  if (code === 'ENOTDIR') return new AppError('invalid', `Not a folder: ${path}`)
  if (code === 'ELOOP') return new AppError('invalid', `Not a path inside the workspace: ${path}`)
  if (code === 'ENAMETOOLONG') return new AppError('invalid', 'The path is too long')
  return error
}
