import { existsSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../core/config.ts'
import { ignoreMissing } from '../../features/agents/snapshots/snapshots.ts'
import { removeForgotten } from './staging.ts'

/** Where the backup of one agent is taken apart; nobody takes an hour for it. */
export const AGENT_STAGING = '.restoring-agent-'
const FORGOTTEN_MS = 3_600_000

/** Removes what backups and restores have left that were killed, at the start of the platform. */
export async function sweepBackups({ dataDir, backups }: Pick<Config, 'dataDir' | 'backups'>): Promise<void> {
  for (const folder of new Set([dataDir, backups.to])) if (existsSync(folder)) await removeForgotten(folder)
  for (const name of (await readdir(dataDir)).filter((entry) => entry.startsWith(AGENT_STAGING))) {
    const stats = await stat(join(dataDir, name)).catch(ignoreMissing)
    if (stats && Date.now() - stats.mtimeMs > FORGOTTEN_MS)
      await rm(join(dataDir, name), { recursive: true, force: true })
  }
}
