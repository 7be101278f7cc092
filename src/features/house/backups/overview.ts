import { basename } from 'node:path'
import { type BackupKeep, type BackupSchedule, findNext } from '../../../core/settings/backups.ts'
import { findLastVerified, listRuns, type RunBackupDeps } from './run-backup.ts'
import type { BackupOverview, BackupRun } from './schemas.ts'
import type { BackupShelf } from './shelf.ts'
import type { BackupRunRow } from './tables.ts'

export type OverviewDeps = Pick<RunBackupDeps, 'db' | 'clock'> & {
  shelf: BackupShelf
  backupSchedule: BackupSchedule | undefined
  drillSchedule: BackupSchedule | undefined
  backupPlace: { to: string; keep: BackupKeep; isSealed: boolean }
}

const SHOWN_RUNS = 20

/** What there is, when the next one comes, and how the last ones went. @throws AppError `unavailable`. */
export async function getBackupOverview(deps: OverviewDeps): Promise<BackupOverview> {
  const { db, clock, shelf, backupSchedule, drillSchedule, backupPlace } = deps
  const toSchedule = (schedule: BackupSchedule | undefined) =>
    schedule ? { ...schedule, nextAt: findNext(schedule, clock.now())?.toISOString() ?? null } : null
  const backups = await shelf.list()
  return {
    ...backupPlace,
    schedule: toSchedule(backupSchedule),
    drillSchedule: toSchedule(drillSchedule),
    lastVerifiedAt: findLastVerified(db)?.toISOString() ?? null,
    lastDrilledAt: findLastVerified(db, 'drill')?.toISOString() ?? null,
    backups: backups.map(({ createdAt, ...backup }) => ({ ...backup, createdAt: createdAt?.toISOString() ?? null })),
    runs: listRuns(db).slice(0, SHOWN_RUNS).map(toBackupRun),
  }
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
