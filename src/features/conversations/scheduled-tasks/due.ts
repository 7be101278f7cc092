import { and, asc, eq, gt, isNotNull, isNull, lte, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { prepareOnce } from '../../../db/prepare-once.ts'
import { write } from '../../../db/write.ts'
import { users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import { addRun, admitRuns, skipRun } from './runs.ts'
import { findNextRun, isSameSchedule } from './schedule.ts'
import { scheduledRuns, scheduledTasks, type TaskRow } from './tables.ts'

/** Tasks per transaction, which limits how long other writers wait. */
const BATCH = 25

/**
 * Starts each due task once, however often it was due, and plans its next run from now. A task whose last run is
 * unfinished is skipped, which its history shows. Tasks of a disabled account wait.
 */
export async function startDueTasks(deps: Base, signal: AbortSignal): Promise<void> {
  for (;;) {
    const now = deps.clock.now()
    const due = dueTasks(deps.db)
      .all({ nowMs: now.getTime() })
      .map(({ task }) => task)
    const planned = await findNextRuns(due, now)
    if (due.length > 0) {
      await write(deps.db, (tx) => {
        for (const { task, next } of planned) startIfDue(deps, tx, task, next)
        admitRuns(deps, tx)
      })
    }
    if (due.length < BATCH || signal.aborted) break
  }
  if (waitingRun(deps.db).get()) await write(deps.db, (tx) => admitRuns(deps, tx))
}

/** Plans tasks again after the clock was set back: they would otherwise wait for the wrong time. */
export async function replanTasks(deps: Base, signal: AbortSignal): Promise<void> {
  let after = ''
  while (!signal.aborted) {
    const now = deps.clock.now()
    const page = listPlanned(deps.db, now, after)
    if (page.length === 0) return
    const planned = await findNextRuns(page, now)
    await write(deps.db, (tx) => {
      for (const { task, next } of planned) planEarlier(tx, task, next)
    })
    after = page.at(-1)?.id ?? ''
  }
}

type Planned = { task: TaskRow; next: Date | null }

/** Runs before the transaction, because rare schedules take long to find. */
async function findNextRuns(tasks: TaskRow[], now: Date): Promise<Planned[]> {
  const planned: Planned[] = []
  for (const task of tasks) planned.push({ task, next: await findNextRun(task, now) })
  return planned
}

const dueTasks = prepareOnce((db) =>
  db
    .select({ task: scheduledTasks })
    .from(scheduledTasks)
    .innerJoin(users, eq(users.id, scheduledTasks.ownerId))
    .where(and(lte(scheduledTasks.nextRunAt, sql.placeholder('nowMs')), isNull(users.disabledAt)))
    .orderBy(asc(scheduledTasks.nextRunAt))
    .limit(BATCH)
    .prepare(),
)

/** Ignores a task that changed since it was listed; the next check lists it again. */
function startIfDue(deps: { clock: Clock }, tx: Tx, found: TaskRow, next: Date | null): void {
  const now = deps.clock.now()
  const isDue = and(eq(scheduledTasks.id, found.id), lte(scheduledTasks.nextRunAt, now))
  const task = tx.select().from(scheduledTasks).where(isDue).get()
  if (!task || !isSameSchedule(task, found)) return
  const { ownerId, agentId } = task
  const request = { taskId: task.id, ownerId, agentId, trigger: 'schedule', dueAt: task.nextRunAt ?? now } as const
  const run = addRun(tx, request)
  if (!run) skipRun(tx, request, now)
  tx.update(scheduledTasks)
    .set({ nextRunAt: next, ...(next === null && { enabled: false }), ...(run && { lastRunAt: now }) })
    .where(eq(scheduledTasks.id, task.id))
    .run()
}

const waitingRun = prepareOnce((db) =>
  db.select({ id: scheduledRuns.id }).from(scheduledRuns).where(eq(scheduledRuns.status, 'queued')).limit(1).prepare(),
)

function listPlanned(db: Db, now: Date, after: string): TaskRow[] {
  return db
    .select()
    .from(scheduledTasks)
    .where(and(gt(scheduledTasks.id, after), isNotNull(scheduledTasks.nextRunAt), gt(scheduledTasks.nextRunAt, now)))
    .orderBy(asc(scheduledTasks.id))
    .limit(BATCH)
    .all()
}

function planEarlier(tx: Tx, task: TaskRow, nextRunAt: Date | null): void {
  if (!nextRunAt || !task.nextRunAt || nextRunAt >= task.nextRunAt) return
  const isUnchanged = and(eq(scheduledTasks.id, task.id), eq(scheduledTasks.nextRunAt, task.nextRunAt))
  tx.update(scheduledTasks).set({ nextRunAt }).where(isUnchanged).run()
}
