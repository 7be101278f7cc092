import { type BackupSchedule, findNext } from '../../../core/settings/backups.ts'
import type { Db } from '../../../db/open.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { BackupPlan } from './backup-plan.ts'
import { endBrokenOff, findLastRun, type RunBackupDeps, runBackup } from './run-backup.ts'
import type { BackupShelf } from './shelf.ts'
import type { BackupRunRow } from './tables.ts'

export type BackupJobDeps = RunBackupDeps & {
  backupPlan: BackupPlan
  drillSchedule: BackupSchedule | undefined
  shelf: BackupShelf
}

const LOOK_MS = 15_000

/**
 * Makes a backup, and restores the newest one for a trial, when their schedules say so: what was due while the platform was
 * stopped is done as soon as it runs, what failed not before its next time.
 */
export function backupsJob(deps: BackupJobDeps): RepeatingJob {
  const openedAt = deps.clock.now()
  let isSettled = false
  const isDue = (kind: BackupRunRow['kind'], schedule: BackupSchedule | undefined) => {
    const next = schedule && findNext(schedule, findLastRun(deps.db, kind)?.startedAt ?? openedAt)
    return next && next <= deps.clock.now()
  }
  return {
    name: 'backups',
    everyMs: LOOK_MS,
    async run(signal) {
      if (!isSettled) await endBrokenOff(deps, openedAt)
      isSettled = true
      if (isBusy(deps.db)) return
      if (isDue('backup', deps.backupPlan.read().schedule)) await runBackup(deps, signal)
      if (!isDue('drill', deps.drillSchedule)) return
      const [newest] = await deps.shelf.list()
      if (newest) await runBackup(deps, signal, { kind: 'drill', file: deps.shelf.locate(newest.name) })
    },
  }
}

/** An admin’s order goes first; what is due waits for it. */
function isBusy(db: Db): boolean {
  return (['backup', 'verify', 'drill', 'restore'] as const).some((kind) => findLastRun(db, kind)?.finishedAt === null)
}
