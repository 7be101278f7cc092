import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { StartupError } from '../../core/errors.ts'
import { giveToOwnerOf } from '../../core/files/ownership.ts'

/**
 * Marker of an unfinished restore. `replaced` is the folder with the previous installation, null for a new data folder.
 * `isAside` says that the move into it is complete, so files in the data folder come from the backup.
 */
const Marker = z.object({
  replaced: z
    .string()
    .regex(/^replaced-[0-9TZ-]+$/)
    .nullable(),
  isAside: z.boolean(),
})
type Marker = z.infer<typeof Marker>

/** Files of an installation: the database's own logs and unrecorded usage belong to that database. */
const ASIDE = [
  ...['stead.db', 'stead.db-wal', 'stead.db-shm', 'usage-spool.jsonl', 'usage-under-way.jsonl'],
  ...['agents', 'restored-states', 'workspace', 'videos', 'instance.id', 'webhook.key', 'encryption.key'],
]

/** Marks the folder as being restored, durably. */
export function markUnfinished(dataDir: string, marker: Marker): void {
  const next = toNextMarker(dataDir)
  const file = openSync(next, 'w', 0o600)
  try {
    writeSync(file, JSON.stringify(marker))
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(next, toMarker(dataDir))
  syncFolder(dataDir)
}

/** Removes the marker. */
export function markFinished(dataDir: string): void {
  syncFolder(dataDir)
  rmSync(toMarker(dataDir), { force: true })
  syncFolder(dataDir)
}

/** Returns whether a restore into this folder was interrupted. */
export function isUnfinished(dataDir: string): boolean {
  return existsSync(toMarker(dataDir))
}

/** Checks that the folder is complete. @throws StartupError when a restore into it was interrupted. */
export function requireFinished(dataDir: string): void {
  if (isUnfinished(dataDir)) {
    throw new StartupError(`DATA_DIR: a restore into ${dataDir} was interrupted: run stead backup restore again`)
  }
}

/** Moves the files of the installation into the folder `replaced`. */
export function putAside(dataDir: string, replaced: string): void {
  const former = join(dataDir, replaced)
  mkdirSync(former, { mode: 0o700 })
  giveToOwnerOf(dataDir, former)
  markUnfinished(dataDir, { replaced, isAside: false })
  for (const name of listOwn(dataDir)) renameSync(join(dataDir, name), join(former, name))
  syncFolder(former)
  markUnfinished(dataDir, { replaced, isAside: true })
}

/** Removes the files that an interrupted restore created. */
export function removeRestored(dataDir: string): void {
  for (const name of listOwn(dataDir)) rmSync(join(dataDir, name), { recursive: true, force: true })
}

/**
 * Puts back the previous installation after an interrupted in-place restore. Can itself be interrupted and repeated.
 * The caller holds the lock of the data folder.
 */
export function undoUnfinished(dataDir: string): void {
  // An unrenamed marker file has no meaning.
  rmSync(toNextMarker(dataDir), { force: true })
  if (!isUnfinished(dataDir)) return
  const { replaced, isAside } = Marker.parse(JSON.parse(readFileSync(toMarker(dataDir), 'utf8')))
  if (replaced === null) return
  if (isAside) {
    removeRestored(dataDir)
    markUnfinished(dataDir, { replaced, isAside: false })
  }
  const former = join(dataDir, replaced)
  for (const name of readdirSync(former)) renameSync(join(former, name), join(dataDir, name))
  markFinished(dataDir)
  rmSync(former, { recursive: true, force: true })
}

/** Lists the files of an installation that exist, by name. */
function listOwn(dataDir: string): string[] {
  const known = new Set<string>(ASIDE)
  return readdirSync(dataDir).filter((name) => known.has(name) || name.startsWith('encryption.key.'))
}

function toMarker(dataDir: string): string {
  return join(dataDir, 'restore.unfinished')
}

function toNextMarker(dataDir: string): string {
  return `${toMarker(dataDir)}.new`
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
