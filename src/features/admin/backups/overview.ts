import { basename } from 'node:path'
import { type BackupSchedule, findNext } from '../../../core/settings/backups.ts'
import type { BackupPlan } from './backup-plan.ts'
import { findLastVerified, listRuns, type RunBackupDeps } from './run-backup.ts'
import type { BackupOverview, BackupRun } from './schemas.ts'
import type { BackupStore } from './store.ts'
import type { BackupRunRow } from './tables.ts'

const SHOWN_RUNS = 20

/** Returns the backups, the next scheduled run and the latest runs. @throws AppError `unavailable` */
export async function getBackupOverview(
  deps: Pick<RunBackupDeps, 'db' | 'clock'> & {
    backupStore: BackupStore
    drillSchedule: BackupSchedule | undefined
    backupPlan: BackupPlan
    backupPlace: { isSealed: boolean }
    dataDir: string
  },
): Promise<BackupOverview> {
  const { db, clock, backupStore, drillSchedule, backupPlace, dataDir } = deps
  const { schedule: backupSchedule, to, keep, fixed } = deps.backupPlan.read()
  const toSchedule = (schedule: BackupSchedule | undefined) =>
    schedule ? { ...schedule, nextAt: findNext(schedule, clock.now())?.toISOString() ?? null } : null
  const backups = await backupStore.list()
  return {
    ...{ to, keep, fixed, isSealed: backupPlace.isSealed },
    schedule: toSchedule(backupSchedule),
    drillSchedule: toSchedule(drillSchedule),
    lastVerifiedAt: findLastVerified(db)?.toISOString() ?? null,
    lastDrilledAt: findLastVerified(db, 'drill')?.toISOString() ?? null,
    backups: backups.map(({ createdAt, ...backup }) => ({
      ...backup,
      createdAt: createdAt?.toISOString() ?? null,
      restoreCommand: toRestoreCommand(backupStore.locate(backup.name), dataDir),
    })),
    runs: listRuns(db).slice(0, SHOWN_RUNS).map(toBackupRun),
  }
}

function toRestoreCommand(file: string, dataDir: string): string {
  const quote = (text: string) => (/^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)
  return `stead backup restore ${quote(file)} --data-dir ${quote(dataDir)} --in-place`
}

export function toBackupRun(row: BackupRunRow): BackupRun {
  const { id, kind, file, startedAt, finishedAt, sizeBytes, error, outcome } = row
  return {
    ...{ id, kind, sizeBytes, error, outcome },
    name: file && basename(file),
    startedAt: startedAt.toISOString(),
    finishedAt: finishedAt?.toISOString() ?? null,
  }
}
