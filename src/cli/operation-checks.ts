import { existsSync, mkdirSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../core/config.ts'
import { createSealer } from '../core/secrets.ts'
import { type BackupSchedule, findNext } from '../core/settings/backups.ts'
import { type Db, hasTable, openForReading, toDb } from '../db/open.ts'
import { createBackupPlan } from '../features/admin/backups/backup-plan.ts'
import { findLastRun } from '../features/admin/backups/run-backup.ts'
import type { BackupRunRow } from '../features/admin/backups/tables.ts'
import { findKey } from '../server/keys/encryption-key.ts'
import { broken, type Check, ok, warning } from './check.ts'
import { testWritePaths } from './service/installed.ts'
import { listWritePaths } from './service/write-paths.ts'

/** Warn below this multiple of the required free space. */
const ROOMY = 2

/** Checks that the service user can write to every path in its settings. */
export function checkWritePaths(config: Config): Check[] {
  const name = 'writable paths'
  const { problems, untested } = testWritePaths(config)
  if (problems.length > 0) return problems.map(({ text }) => broken(name, text))
  if (untested !== null) return [warning(name, `only root can test what ${untested} may write: run it with sudo`)]
  const paths = listWritePaths(config)
  const missing = paths.filter(({ folder }) => !existsSync(folder))
  if (missing.length > 0) {
    return missing.map(({ setting, folder }) => ({
      ...warning(name, `${setting}: ${folder} does not exist yet (mkdir -p ${folder})`),
      fix: { command: `mkdir -p ${folder}`, run: () => void mkdirSync(folder, { recursive: true, mode: 0o700 }) },
    }))
  }
  const folders = [config.dataDir, ...paths.map(({ folder }) => folder)]
  return [ok(name, [...new Set(folders)].join(', '))]
}

/** Checks free space on each disk that the installation writes to. */
export function checkDisk(config: Config, { to }: Pick<BackupPlan, 'to'>): Check[] {
  const { dataDir, databaseFile, minFreeDiskBytes } = config
  const folders = [dataDir, dirname(databaseFile), ...(to.startsWith('s3://') ? [] : [to])]
  const disks = new Map<string, { folder: string; freeBytes: number }>()
  for (const folder of folders) {
    const { type, blocks, bavail, bsize } = statfsSync(findExisting(folder))
    const key = `${type} ${blocks} ${bavail}`
    if (!disks.has(key)) disks.set(key, { folder, freeBytes: bavail * bsize })
  }
  return [...disks.values()].map(({ folder, freeBytes }) => {
    const text = `${toGigabytes(freeBytes)} free at ${folder}`
    const floor = `MIN_FREE_DISK_MB is ${Math.round(minFreeDiskBytes / 1024 ** 2)}`
    if (freeBytes < minFreeDiskBytes) return broken('disk', `${text}: users' writes answer 507 (${floor})`)
    if (freeBytes < ROOMY * minFreeDiskBytes) return warning('disk', `${text}: nearly full (${floor})`)
    return ok('disk', text)
  })
}

function findExisting(folder: string): string {
  return existsSync(folder) ? folder : findExisting(dirname(folder))
}

function toGigabytes(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(1)} GB`
}

/** Returns the effective schedule and location of backups. */
type BackupPlan = { schedule: BackupSchedule | undefined; to: string; isFromDashboard: boolean }

/** Returns the settings of the environment, completed by those of the dashboard. */
export function findBackupPlan(config: Config): BackupPlan {
  const { schedule, to } = config.backups
  const given = { schedule, to, isFromDashboard: false }
  const stored = readDatabase(config.databaseFile, (db) => {
    const { key, problem } = findKey(config)
    if (key === null || problem !== null || !hasTable(db, 'service_credentials')) return null
    return createBackupPlan({ db, sealer: createSealer(key) }, config).read()
  })
  return stored === null ? given : { ...stored, isFromDashboard: stored.schedule !== schedule }
}

/** Checks the backup schedule and the last run. */
export function checkBackups({ databaseFile }: Config, plan: BackupPlan, now: Date): Check {
  const name = 'backups'
  const last = readDatabase(databaseFile, (db) => (hasTable(db, 'backup_runs') ? findLastRun(db, 'backup') : null))
  const lastText = last === null ? 'none was made yet' : describeRun(last)
  const { schedule, to, isFromDashboard } = plan
  if (!schedule)
    return warning(
      name,
      `no schedule is set (BACKUP_SCHEDULE, or Backups in the dashboard), so none is made by itself; ${lastText}`,
    )
  const source = isFromDashboard ? ' (set in the dashboard)' : ''
  const text = `${toText(schedule)}${source} to ${to}; ${lastText}; next ${toMinute(findNext(schedule, now))}`
  return last?.error ? broken(name, text) : ok(name, text)
}

function describeRun({ startedAt, finishedAt, error }: BackupRunRow): string {
  const outcome = error ? ` failed: ${error}` : finishedAt === null ? ' is being made' : ''
  return `last ${toMinute(startedAt)}${outcome}`
}

function toText({ cron, timeZone }: BackupSchedule): string {
  return `${cron} ${timeZone}`
}

/** `2026-11-22 14:05 UTC` */
function toMinute(time: Date | null): string {
  return time === null ? 'never' : `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** Opens the database; null when it is missing, older or damaged, which other checks report. */
function readDatabase<T>(databaseFile: string, read: (db: Db) => T): T | null {
  if (!existsSync(databaseFile)) return null
  let sqlite: ReturnType<typeof openForReading> | undefined
  try {
    sqlite = openForReading(databaseFile)
    return read(toDb(sqlite))
  } catch {
    return null
  } finally {
    sqlite?.close()
  }
}
