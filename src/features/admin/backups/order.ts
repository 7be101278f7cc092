import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { write } from '../../../db/write.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import type { Administrator } from '../accounts/change-account.ts'
import { type BackupTask, performRun, type RunBackupDeps, requireRunStead, startRun } from './run-backup.ts'
import { type BackupRunRow, backupRuns } from './tables.ts'

const JOB = 'backup-task'
const File = z.object({ file: z.string() })
const Task = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('backup') }),
  File.extend({ kind: z.literal('verify') }),
  File.extend({ kind: z.literal('drill') }),
  File.extend({ kind: z.literal('restore'), agentId: z.string(), replaces: z.boolean() }),
])

export type OrderDeps = RunBackupDeps & { enqueue: Enqueue }

/** Notes that an admin wants something done, which begins at once. @throws AppError as `runBackup`. */
export async function orderRun(deps: OrderDeps, by: Administrator, task: BackupTask): Promise<BackupRunRow> {
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

/** Does what was ordered, once: a run that a dying platform has left is over. */
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
