import { and, asc, eq, gt, isNotNull, isNull, lte } from 'drizzle-orm'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import { users } from '../accounts/tables.ts'
import { findNextRun } from './cron.ts'
import { type AdmitDeps, addRun, admitRuns, skipRun } from './runs.ts'
import { scheduledRuns, scheduledTasks, type TaskRow } from './tables.ts'

/** Tasks that one closure starts or plans anew: other writers wait no longer than that takes. */
const BATCH = 25

export type DueDeps = AdmitDeps & { db: Db }

/**
 * Starts each task whose time has come, once, however often it came while nobody looked, and plans its next run from now.
 * A task whose last run goes on is skipped, and its history says so. Those of a closed account wait until it is open.
 */
export async function startDueTasks(deps: DueDeps, signal: AbortSignal): Promise<void> {
  for (;;) {
    const due = listDue(deps.db, deps.clock.now())
    if (due.length > 0) {
      await write(deps.db, (tx) => {
        for (const id of due) startIfDue(deps, tx, id)
        admitRuns(deps, tx)
      })
    }
    if (due.length < BATCH || signal.aborted) break
  }
  if (isAnyWaiting(deps.db)) await write(deps.db, (tx) => admitRuns(deps, tx))
}

/** After the clock went back: a task that was planned by the wrong time would wait until then. */
export async function replanTasks(deps: DueDeps, signal: AbortSignal): Promise<void> {
  let after = ''
  while (!signal.aborted) {
    const page = listPlanned(deps.db, deps.clock.now(), after)
    if (page.length === 0) return
    await write(deps.db, (tx) => {
      for (const task of page) planEarlier(tx, task, deps.clock.now())
    })
    after = page.at(-1)?.id ?? ''
  }
}

function listDue(db: Db, now: Date): string[] {
  return db
    .select({ id: scheduledTasks.id })
    .from(scheduledTasks)
    .innerJoin(users, eq(users.id, scheduledTasks.ownerId))
    .where(and(lte(scheduledTasks.nextRunAt, now), isNull(users.disabledAt)))
    .orderBy(asc(scheduledTasks.nextRunAt))
    .limit(BATCH)
    .all()
    .map(({ id }) => id)
}

function startIfDue(deps: DueDeps, tx: Tx, id: string): void {
  const now = deps.clock.now()
  const isDue = and(eq(scheduledTasks.id, id), lte(scheduledTasks.nextRunAt, now))
  const task = tx.select().from(scheduledTasks).where(isDue).get()
  if (!task) return
  const { ownerId, agentId } = task
  const request = { taskId: id, ownerId, agentId, trigger: 'schedule', dueAt: task.nextRunAt ?? now } as const
  const run = addRun(tx, request)
  if (!run) skipRun(tx, request, now)
  tx.update(scheduledTasks)
    .set({ nextRunAt: findNextRun(task, now), ...(run && { lastRunAt: now }) })
    .where(eq(scheduledTasks.id, id))
    .run()
}

function isAnyWaiting(db: Db): boolean {
  const isQueued = eq(scheduledRuns.status, 'queued')
  return db.select({ id: scheduledRuns.id }).from(scheduledRuns).where(isQueued).limit(1).get() !== undefined
}

function listPlanned(db: Db, now: Date, after: string): TaskRow[] {
  return db
    .select()
    .from(scheduledTasks)
    .where(and(gt(scheduledTasks.id, after), isNotNull(scheduledTasks.nextRunAt), gt(scheduledTasks.nextRunAt, now)))
    .orderBy(asc(scheduledTasks.id))
    .limit(BATCH)
    .all()
}

function planEarlier(tx: Tx, task: TaskRow, now: Date): void {
  const nextRunAt = findNextRun(task, now)
  if (!nextRunAt || !task.nextRunAt || nextRunAt >= task.nextRunAt) return
  const isUnchanged = and(eq(scheduledTasks.id, task.id), eq(scheduledTasks.nextRunAt, task.nextRunAt))
  tx.update(scheduledTasks).set({ nextRunAt }).where(isUnchanged).run()
}
