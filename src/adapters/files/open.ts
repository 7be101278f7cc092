import { closeSync, constants, fchownSync, fstatSync, mkdirSync, openSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../core/errors.ts'
import { systemCode } from '../../core/files/system-error.ts'
import { isGitName } from '../../core/text/names.ts'

const MAX_PATH_CHARS = 1024
const OPEN_FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
/** On Linux, `/proc/self/fd/N/name` resolves from an open folder even after a rename, like openat(2). */
const BEGINS_AT_FOLDERS = process.platform === 'linux'
const MAY_GIVE_AWAY = process.getuid?.() === 0

/** A tree that others may change at the same time: `base` is trusted; below it no link is followed. */
export type FolderRoot = { base: string; below: readonly string[] }

/** A folder held by its descriptor. `at` returns the path of an entry for calls that do not follow links. */
export type OpenFolder = { fd: number; path: string; at(name: string): string }

/**
 * Splits a caller's path into its parts; empty for the root.
 * @throws AppError `invalid` for an absolute path, one with `..`, or one that decodes to either.
 */
export function toParts(path: string): string[] {
  const isBad =
    path.length > MAX_PATH_CHARS ||
    !path.isWellFormed() ||
    /[\0\\\uFFFD]/.test(path) ||
    /^(?:\/|[a-z]:|[a-z][a-z0-9+.-]*:\/\/)/i.test(path) ||
    /%(?:00|2e|2f|5c|c0|c1|e0%80|f0%80|25|u00)/i.test(path) ||
    /(?:^|\/)\.{2,}\s*(?:\/|$)/.test(path)
  if (isBad) throw new AppError('invalid', `Not a path inside the workspace: ${JSON.stringify(path.slice(0, 100))}`)
  return path.split('/').filter((part) => part !== '' && part !== '.')
}

/** Rejects writes to the root and to `.git`, where Git finds hooks and configuration. @throws AppError `invalid`. */
export function requireWritable(parts: readonly string[]): void {
  if (parts.length === 0) throw new AppError('invalid', 'The path names no file')
  if (parts.some(isGitName)) {
    throw new AppError('invalid', 'Files of Git cannot be changed here')
  }
}

/** Opens a folder part by part. @throws the system's error: `ENOENT`, or `ENOTDIR` also for a link. */
export function withFolder<T>(root: FolderRoot, parts: readonly string[], use: (folder: OpenFolder) => T | Promise<T>) {
  return walkTo(root, parts, openNext, use)
}

/** Works like `withFolder` but creates missing folders below the root. */
export function withMadeFolder<T>(
  root: FolderRoot,
  parts: readonly string[],
  use: (folder: OpenFolder) => T | Promise<T>,
) {
  return walkTo(root, parts, makeNext, use)
}

/** Opens a subfolder of an open folder while `use` runs. */
export async function withEntry<T>(
  parent: OpenFolder,
  name: string,
  use: (folder: OpenFolder) => T | Promise<T>,
): Promise<T> {
  const folder = openNext(parent, name)
  try {
    return await use(folder)
  } finally {
    closeSync(folder.fd)
  }
}

async function walkTo<T>(
  root: FolderRoot,
  parts: readonly string[],
  toNext: typeof openNext,
  use: (folder: OpenFolder) => T | Promise<T>,
): Promise<T> {
  let folder = openBase(root.base)
  try {
    for (const name of root.below) folder = replace(folder, openNext(folder, name))
    for (const name of parts) folder = replace(folder, toNext(folder, name))
    const result = await use(folder)
    requireUnmoved(folder)
    return result
  } finally {
    closeSync(folder.fd)
  }
}

function openBase(base: string): OpenFolder {
  const path = BEGINS_AT_FOLDERS ? base : realpathSync(base)
  return toFolder(openSync(path, constants.O_RDONLY | constants.O_DIRECTORY), path)
}

function openNext(folder: OpenFolder, name: string): OpenFolder {
  requireUnmoved(folder)
  return toFolder(openSync(folder.at(name), OPEN_FOLDER), join(folder.path, name))
}

function makeNext(folder: OpenFolder, name: string): OpenFolder {
  try {
    makeFolderIn(folder, name)
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
  }
  return openNext(folder, name)
}

/** Creates a folder in an open one. @throws the system's error: `EEXIST` when the name is taken. */
export function makeFolderIn(folder: OpenFolder, name: string): void {
  mkdirSync(folder.at(name))
  if (!MAY_GIVE_AWAY) return
  const made = openNext(folder, name)
  try {
    giveToOwner(made.fd, folder)
  } finally {
    closeSync(made.fd)
  }
}

/** Gives an entry created by root to the owner of its folder. */
export function giveToOwner(fd: number, folder: OpenFolder): void {
  if (!MAY_GIVE_AWAY) return
  const { uid, gid } = fstatSync(folder.fd)
  if (uid !== 0) fchownSync(fd, uid, gid)
}

function replace(old: OpenFolder, next: OpenFolder): OpenFolder {
  closeSync(old.fd)
  return next
}

function toFolder(fd: number, path: string): OpenFolder {
  if (!BEGINS_AT_FOLDERS) return { fd, path, at: (name) => join(path, name) }
  return { fd, path, at: (name) => `/proc/self/fd/${fd}/${name}` }
}

/** Without `/proc/self/fd`, compares the folder's path before and after an operation. */
function requireUnmoved(folder: OpenFolder): void {
  if (!BEGINS_AT_FOLDERS && realpathSync(folder.path) !== folder.path) {
    throw new AppError('invalid', 'The folder has moved')
  }
}
