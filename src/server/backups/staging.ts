import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { errorCode } from '../../adapters/runtimes/process/files.ts'
import type { Config } from '../../core/config.ts'
import { StartupError } from '../../core/errors.ts'
import { giveToOwnerOf } from '../../core/files/ownership.ts'
import { ignoreMissing } from '../../core/files/system-error.ts'
import { lockDataDir } from '../../db/instance-lock.ts'
import { flush } from './archive.ts'

const PREFIX = '.stead-backup-'
/** Prefix of a staging folder until it is locked. */
const UNLOCKED_PREFIX = '.stead-staging-'
const UNLOCKED_MS = 60_000
/** File with the path of the partial copy next to the destination on another file system. */
const PART_NOTE = 'part'

export type Staging = Awaited<ReturnType<typeof openStaging>>

/**
 * Creates a locked folder in the data folder for the parts of a backup: keys and database in the clear are written
 * nowhere else.
 */
export async function openStaging(dataDir: string) {
  const id = randomBytes(6).toString('hex')
  const unlocked = join(dataDir, `${UNLOCKED_PREFIX}${id}`)
  const path = join(dataDir, `${PREFIX}${id}`)
  for (const folder of [unlocked, join(unlocked, 'data'), join(unlocked, 'agents')])
    await mkdir(folder, { mode: 0o700 })
  const unlock = lockDataDir(unlocked)
  await rename(unlocked, path)
  return {
    path,
    /** Returns where the archive entry with this path is staged. */
    toStaged: (entry: string) => join(path, entry),
    /** Moves a finished file to `destination` atomically and gives it to the owner of that folder. */
    async deliver(file: string, destination: string) {
      giveToOwnerOf(dirname(destination), file)
      const isMoved = await rename(file, destination).then(
        () => true,
        (error: unknown) => {
          if (errorCode(error) === 'EXDEV') return false
          throw error
        },
      )
      if (!isMoved) await copyInto(path, file, destination)
      await flush(dirname(destination))
    },
    async remove() {
      unlock()
      await rm(path, { recursive: true, force: true })
    },
  }
}

/** Copies to another file system under a temporary name, then renames. */
async function copyInto(staging: string, file: string, destination: string): Promise<void> {
  const part = join(dirname(destination), `${basename(staging)}.part`)
  await writeFile(join(staging, PART_NOTE), part, { mode: 0o600 })
  try {
    await copyFile(file, part)
    giveToOwnerOf(dirname(part), part)
    await flush(part)
    await rename(part, destination)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** Removes staging folders and partial copies of killed backups. */
export async function removeForgotten(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    if (name.startsWith(UNLOCKED_PREFIX)) {
      const stats = await stat(path).catch(() => null)
      if (stats && Date.now() - stats.mtimeMs > UNLOCKED_MS) await rm(path, { recursive: true, force: true })
    } else if (name.startsWith(PREFIX) && isFree(path)) {
      await removePart(path)
      await rm(path, { recursive: true, force: true })
    }
  }
}

async function removePart(staging: string): Promise<void> {
  const note = join(staging, PART_NOTE)
  if (!existsSync(note)) return
  const part = await readFile(note, 'utf8')
  if (basename(part) !== `${basename(staging)}.part`) return
  // A missing or read-only disk must not prevent the next backup.
  await rm(part, { force: true }).catch(() => undefined)
}

function isFree(path: string): boolean {
  try {
    lockDataDir(path)()
    return true
  } catch (error) {
    if (error instanceof StartupError) return false
    throw error
  }
}

/** Prefix of the folder in which the backup of one agent is extracted. */
export const AGENT_STAGING = '.restoring-agent-'
const FORGOTTEN_MS = 3_600_000

/** Removes leftovers of killed backups and restores; called at start. */
export async function sweepBackups({ dataDir, backups }: Pick<Config, 'dataDir' | 'backups'>): Promise<void> {
  for (const folder of new Set([dataDir, backups.to])) if (existsSync(folder)) await removeForgotten(folder)
  for (const name of (await readdir(dataDir)).filter((entry) => entry.startsWith(AGENT_STAGING))) {
    const stats = await stat(join(dataDir, name)).catch(ignoreMissing)
    if (stats && Date.now() - stats.mtimeMs > FORGOTTEN_MS)
      await rm(join(dataDir, name), { recursive: true, force: true })
  }
}
