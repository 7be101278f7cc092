import { lchownSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

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
