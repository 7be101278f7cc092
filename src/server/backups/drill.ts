import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agentFolder } from '../../adapters/runtimes/process/files.ts'
import type { Clock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import { AppError } from '../../core/errors.ts'
import { findDamage } from '../../db/copy.ts'
import { openMigrated } from '../database.ts'
import { listAgents } from './capture.ts'
import type { Report } from './create.ts'
import { restoreBackup } from './restore.ts'
import { toRestoredStates } from './restored-states.ts'
import { createBackupStore } from './store.ts'

export type DrillOrder = { file: string; givenKey: string | null; passphrase: string | null }
/** Result of a restore drill; the backup is usable when `problems` is empty. */
export type Drill = { file: string; createdAt: string; agents: number; seconds: number; problems: string[] }

/** Returns the newest backup at `BACKUP_TO`, by name. @throws AppError `not_found` without any. */
export async function findNewest(backups: Pick<Config['backups'], 'to' | 's3'>): Promise<string> {
  const backupStore = createBackupStore(backups)
  const names = (await backupStore.list()).map(({ name }) => name).sort()
  const newest = names.at(-1)
  if (newest === undefined) throw new AppError('not_found', `backup: there is none in ${backups.to}`)
  return backupStore.locate(newest)
}

/**
 * Restores a backup into a temporary folder, migrates its database as a start would, and checks that every agent exists
 * with its files. Starts nothing and does not touch the installation.
 * @throws AppError as `restoreBackup`.
 */
export async function drillBackup({ clock }: { clock: Clock }, order: DrillOrder, report: Report): Promise<Drill> {
  const startedAt = performance.now()
  const folder = await mkdtemp(join(tmpdir(), 'stead-drill-'))
  const dataDir = join(folder, 'data')
  try {
    const restored = await restoreBackup({ clock }, { ...order, dataDir, isInPlace: false }, report)
    const { createdAt, agents } = restored
    const lost = agents.filter(({ id, runtime, state }) => {
      const isKept = state === 'whole' || state === 'moving'
      return isKept && !existsSync(toState(dataDir, id, runtime))
    })
    const problems = [
      ...agents.filter(({ state }) => state === 'missing').map(({ id, reason }) => `${id}: ${reason}`),
      ...lost.map(({ id }) => `${id}: its files were not restored`),
      ...examine(dataDir, agents.length),
    ]
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10
    return { file: order.file, createdAt, agents: agents.length, seconds, problems }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function toState(dataDir: string, id: string, runtime: string | null): string {
  if (runtime === 'process') return agentFolder(join(dataDir, 'agents'), id).state
  return join(toRestoredStates(dataDir), `${id}.tar.gz`)
}

function examine(dataDir: string, expected: number): string[] {
  const { connection } = openMigrated(join(dataDir, 'stead.db'), dataDir)
  try {
    const damage = findDamage(connection.sqlite)
    const count = listAgents(connection.sqlite).length
    return [
      ...(damage ? [damage] : []),
      ...(count === expected ? [] : [`it has ${count} agents instead of ${expected}`]),
    ]
  } finally {
    connection.close()
  }
}
