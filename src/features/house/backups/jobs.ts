import { type BackupSchedule, findNext } from '../../../core/settings/backups.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { endBrokenOff, listRuns, type RunBackupDeps, runBackup } from './run-backup.ts'

export type BackupJobDeps = RunBackupDeps & { backupSchedule: BackupSchedule | undefined }

const LOOK_MS = 15_000

/**
 * Makes a backup when the schedule says so: one that was due while the platform was stopped is made as soon as it runs, one
 * that failed not before its next time.
 */
export function backupsJob(deps: BackupJobDeps): RepeatingJob {
  const openedAt = deps.clock.now()
  let isSettled = false
  return {
    name: 'backups',
    everyMs: LOOK_MS,
    async run(signal) {
      if (!isSettled) await endBrokenOff(deps)
      isSettled = true
      const { backupSchedule: schedule, clock } = deps
      if (!schedule) return
      const last = listRuns(deps.db)[0]?.startedAt ?? openedAt
      const next = findNext(schedule, last)
      if (next !== null && next <= clock.now()) await runBackup(deps, signal)
    },
  }
}
