import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { type BackupSchedule, findNext } from '../../../core/settings/backups.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import type { Administrator } from '../accounts/change-account.ts'
import type { BackupPlan } from './backup-plan.ts'
import {
  type BackupTask,
  endBrokenOff,
  findLastRun,
  performRun,
  type RunBackupDeps,
  requireRunStead,
  runBackup,
  startRun,
} from './run-backup.ts'
import type { BackupStore } from './store.ts'
import { type BackupRunRow, backupRuns } from './tables.ts'

const LOOK_MS = 15_000

/**
 * Makes backups and restore drills on schedule. A run missed while the platform was stopped starts at once; a failed
 * one waits for its next time.
 */
export function backupsJob(
  deps: RunBackupDeps & { backupPlan: BackupPlan; drillSchedule: BackupSchedule | undefined; backupStore: BackupStore },
): RepeatingJob {
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
      const [newest] = await deps.backupStore.list()
      if (newest) await runBackup(deps, signal, { kind: 'drill', file: deps.backupStore.locate(newest.name) })
    },
  }
}

/** A run that an administrator started goes first. */
function isBusy(db: Db): boolean {
  return (['backup', 'verify', 'drill', 'restore'] as const).some((kind) => findLastRun(db, kind)?.finishedAt === null)
}

const JOB = 'backup-task'
const File = z.object({ file: z.string() })
const Task = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('backup') }),
  File.extend({ kind: z.literal('verify') }),
  File.extend({ kind: z.literal('drill') }),
  File.extend({ kind: z.literal('restore'), agentId: z.string(), replaces: z.boolean() }),
])

/** Records a backup task of an administrator and starts it at once. @throws AppError as `runBackup`. */
export async function orderRun(deps: RunBackupDeps, by: Administrator, task: BackupTask): Promise<BackupRunRow> {
  requireRunStead(deps)
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const row = startRun(tx, task, now)
    const detail = task.kind === 'restore' ? { agent: task.agentId, replaces: task.replaces } : {}
    const entry = {
      actor: by.id,
      action: `backup.${task.kind}`,
      target: row.file ?? 'new',
      detail,
      address: by.address,
    }
    recordAudit(tx, entry, now)
    deps.enqueue(tx, JOB, { id: row.id, task })
    return row
  })
}

/** Runs a recorded task once; a run that was interrupted by a shutdown is not resumed. */
export function backupTaskJob(deps: RunBackupDeps): JobKind {
  return defineJob({
    kind: JOB,
    payload: z.object({ id: z.number(), task: Task }),
    maxAttempts: 1,
    isSlow: true,
    async run({ id, task }, signal) {
      const row = deps.db.select().from(backupRuns).where(eq(backupRuns.id, id)).get()
      if (row?.finishedAt === null) await performRun(deps, id, task, signal)
    },
  })
}
