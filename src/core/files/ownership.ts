import { accessSync, constants, existsSync, lchownSync, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { errorMessage, StartupError } from '../errors.ts'

/**
 * Changes the owner of `paths` to that of `example` when running as root, because the service runs as that owner. Does
 * not follow links. Calls no chown when root is the owner, because the systemd unit forbids it.
 */
export function giveToOwnerOf(example: string, ...paths: string[]): void {
  const owner = findOtherOwner(example)
  if (owner !== null) for (const path of paths) lchownSync(path, owner.uid, owner.gid)
}

/** Does the same for a folder and its contents. */
export function giveTreeToOwnerOf(folder: string, path: string): void {
  const owner = findOtherOwner(folder)
  if (owner !== null) giveTree(path, owner)
}

type Owner = { uid: number; gid: number }

function findOtherOwner(folder: string): Owner | null {
  if (process.getuid?.() !== 0) return null
  const { uid, gid } = statSync(folder)
  return uid === 0 ? null : { uid, gid }
}

function giveTree(path: string, owner: Owner): void {
  lchownSync(path, owner.uid, owner.gid)
  if (!lstatSync(path).isDirectory()) return
  for (const name of readdirSync(path)) giveTree(join(path, name), owner)
}

/**
 * Creates `folder` with mode 0700 when missing, owned by the owner of `dataDir` if given.
 * @throws StartupError that starts with `name`, the setting of the folder.
 */
export function requireWritableFolder(name: string, folder: string, dataDir?: string): void {
  try {
    const isNew = !existsSync(folder)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (isNew && dataDir !== undefined) giveToOwnerOf(dataDir, folder)
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new StartupError(`${name}: ${folder} cannot be written (${errorMessage(error)})`, { cause: error })
  }
}
