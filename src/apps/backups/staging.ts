import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { StartupError } from '../../core/errors.ts'
import { lockDataDir } from '../../db/instance-lock.ts'

const PREFIX = '.stead-backup-'
/** Whoever has just made one has not locked it yet. */
const YOUNG_MS = 60_000

/** A folder beside the backup to be, on the same disk, which nobody takes for one. It is held until it is removed. */
export async function openStaging(parent: string) {
  const path = join(parent, `${PREFIX}${randomBytes(6).toString('hex')}`)
  for (const folder of [path, join(path, 'data'), join(path, 'agents')]) await mkdir(folder, { mode: 0o700 })
  const unlock = lockDataDir(path)
  return {
    path,
    /** Where the entry of the archive with this path is made. */
    toStaged: (entry: string) => join(path, entry),
    async remove() {
      unlock()
      await rm(path, { recursive: true, force: true })
    },
  }
}

/** Removes what backups that were killed have left in a folder. Those that are being made are held. */
export async function removeForgotten(parent: string): Promise<void> {
  for (const name of (await readdir(parent)).filter((entry) => entry.startsWith(PREFIX))) {
    const path = join(parent, name)
    const stats = await stat(path).catch(() => null)
    if (stats && Date.now() - stats.mtimeMs > YOUNG_MS && isFree(path)) await rm(path, { recursive: true, force: true })
  }
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
