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
 * `replaced` is the folder with what was there before, null for a data folder that was new. `isAside` says that all of it is
 * there, so that what stands in its place is the backup's.
 */
const Marker = z.object({
  replaced: z
    .string()
    .regex(/^replaced-[0-9TZ-]+$/)
    .nullable(),
  isAside: z.boolean(),
})
type Marker = z.infer<typeof Marker>

/** What belongs to an installation: the logs of a database and what is still to be booked belong to that database alone. */
const ASIDE = [
  ...['stead.db', 'stead.db-wal', 'stead.db-shm', 'usage-spool.jsonl', 'usage-under-way.jsonl'],
  ...['agents', 'restored-states', 'workspace', 'videos', 'instance.id', 'webhook.key', 'encryption.key'],
]

/** From now on, and after any crash, the folder is one whose restore is under way. */
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

/** The restore is whole. */
export function markFinished(dataDir: string): void {
  syncFolder(dataDir)
  rmSync(toMarker(dataDir), { force: true })
  syncFolder(dataDir)
}

/** Was a restore into this folder broken off? */
export function isUnfinished(dataDir: string): boolean {
  return existsSync(toMarker(dataDir))
}

/** @throws StartupError when a restore into this folder was broken off, so that what is in it is not what it seems. */
export function requireFinished(dataDir: string): void {
  if (isUnfinished(dataDir)) {
    throw new StartupError(`DATA_DIR: a restore into ${dataDir} was broken off: run stead backup restore again`)
  }
}

/** Puts what belongs to an installation aside. */
export function putAside(dataDir: string, replaced: string): void {
  const former = join(dataDir, replaced)
  mkdirSync(former, { mode: 0o700 })
  giveToOwnerOf(dataDir, former)
  markUnfinished(dataDir, { replaced, isAside: false })
  for (const name of listOwn(dataDir)) renameSync(join(dataDir, name), join(former, name))
  syncFolder(former)
  markUnfinished(dataDir, { replaced, isAside: true })
}

/** Removes what a restore has put into a folder until it was broken off. */
export function removeRestored(dataDir: string): void {
  for (const name of listOwn(dataDir)) rmSync(join(dataDir, name), { recursive: true, force: true })
}

/**
 * Takes back what was there before a restore in its place was broken off, at whatever point, and however often this is
 * broken off as well. Whoever calls this holds the data folder.
 */
export function undoUnfinished(dataDir: string): void {
  // A marker that was not yet in its place says nothing.
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

/** What is there of an installation, by name. */
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
