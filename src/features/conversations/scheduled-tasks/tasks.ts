import { and, desc, eq, inArray } from 'drizzle-orm'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { findTimeZone } from '../../accounts/users/users.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { Base } from '../../base.ts'
import { addRun, admitRuns, findRun } from './runs.ts'
import { findNextRun, isSameSchedule, type Schedule, toStoredSchedule } from './schedule.ts'
import type { ChangeTaskRequest, CreateTaskRequest } from './schemas.ts'
import { scheduledRuns, scheduledTasks, type TaskRow, type TaskRunRow } from './tables.ts'

const MAX_TASKS_PER_USER = 50

/** Lists a user's tasks, or those of one agent, newest first. */
export function listTasks(db: Db, ownerId: string, agentId: string | undefined): TaskRow[] {
  const ofAgent = agentId === undefined ? undefined : eq(scheduledTasks.agentId, agentId)
  return db
    .select()
    .from(scheduledTasks)
    .where(and(eq(scheduledTasks.ownerId, ownerId), ofAgent))
    .orderBy(desc(scheduledTasks.createdAt), desc(scheduledTasks.id))
    .all()
}

/** @throws AppError `not_found` for a missing task or another user's. */
export function getTask(db: Db | Tx, ownerId: string, id: string): TaskRow {
  const row = db.select().from(scheduledTasks).where(isOwn(ownerId, id)).get()
  if (!row) throw new AppError('not_found', 'Task not found')
  return row
}

/** @throws AppError `invalid` for a bad schedule, `not_found` for another user's agent, `limited` at 50 tasks. */
export async function createTask(deps: Base, user: SignedInUser, request: CreateTaskRequest): Promise<TaskRow> {
  const now = deps.clock.now()
  const timezone = request.timezone ?? findTimeZone(deps.db, user.id) ?? 'UTC'
  const schedule = toStoredSchedule({ cronSchedule: request.cronSchedule, timezone }, now)
  const first = await requireNextRun(schedule, now)
  getAgent(deps.db, { kind: 'user', user }, request.agentId)
  return write(deps.db, (tx) => {
    requireTaskQuota(tx, user.id)
    const nextRunAt = request.enabled ? first : null
    return tx
      .insert(scheduledTasks)
      .values({
        ...request,
        ...schedule,
        id: newId('task'),
        ownerId: user.id,
        nextRunAt,
        createdAt: now,
        updatedAt: now,
      })
      .returning()
      .get()
  })
}

/**
 * Changes a task. Changing its schedule plans the next run from now; other changes keep it.
 * @throws AppError `not_found`, `invalid` for a bad schedule.
 */
export async function changeTask(deps: Base, ownerId: string, request: ChangeTaskRequest): Promise<TaskRow> {
  for (;;) {
    const now = deps.clock.now()
    const known = getTask(deps.db, ownerId, request.taskId)
    const planned = toChanged(known, request, now)
    const next = isPlannedAnew(known, planned) ? await requireNextRun(planned, now) : known.nextRunAt
    const changed = await write(deps.db, (tx) => {
      const before = getTask(tx, ownerId, request.taskId)
      // The task changed concurrently; recompute the plan.
      if (!isSameSchedule(before, known) || before.enabled !== known.enabled) return null
      const after = toChanged(before, request, now)
      if (isPlannedAnew(before, after)) after.nextRunAt = after.enabled ? next : null
      return tx.update(scheduledTasks).set(after).where(isOwn(ownerId, request.taskId)).returning().get()
    })
    if (changed) return changed
  }
}

function isPlannedAnew(before: TaskRow, after: TaskRow): boolean {
  return !isSameSchedule(after, before) || after.enabled !== before.enabled
}

function toChanged(before: TaskRow, { taskId: _, ...fields }: ChangeTaskRequest, now: Date): TaskRow {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
  const after: TaskRow = { ...before, ...given, updatedAt: now }
  if (fields.cronSchedule === undefined) return after
  const { cronSchedule, timezone } = after
  return { ...after, ...toStoredSchedule({ cronSchedule, timezone }, now) }
}

/** Deletes a task with its history; a running run is not stopped. @throws AppError `not_found`. */
export async function deleteTask(db: Db, ownerId: string, id: string): Promise<void> {
  const { changes } = await write(db, (tx) => tx.delete(scheduledTasks).where(isOwn(ownerId, id)).run())
  if (changes === 0) throw new AppError('not_found', 'Task not found')
}

/**
 * Runs a task now, even if it is off, without changing its next run.
 * @throws AppError `not_found`, `conflict` while it runs.
 */
export function runTaskNow(deps: Base, ownerId: string, id: string): Promise<TaskRunRow> {
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const { agentId } = getTask(tx, ownerId, id)
    const run = addRun(tx, { taskId: id, ownerId, agentId, trigger: 'manual', dueAt: now })
    if (!run) throw new AppError('conflict', 'The task is running already')
    tx.update(scheduledTasks).set({ lastRunAt: now }).where(eq(scheduledTasks.id, id)).run()
    admitRuns(deps, tx)
    return findRun(tx, run.id) ?? run
  })
}

/** @throws AppError `invalid` {reason} for a schedule that is bad or never due. */
async function requireNextRun(schedule: Schedule, now: Date): Promise<Date> {
  let reason = 'It never comes round'
  try {
    const next = await findNextRun(schedule, now)
    if (next) return next
  } catch (error) {
    reason = errorMessage(error)
  }
  throw new AppError('invalid', 'Invalid cron schedule. Expected 5-6 fields (e.g., "0 9 * * *")', { reason })
}

function requireTaskQuota(tx: Tx, ownerId: string): void {
  const current = countRows(tx, scheduledTasks, eq(scheduledTasks.ownerId, ownerId))
  const message = `Scheduled task limit reached (max ${MAX_TASKS_PER_USER})`
  requireQuota({ current, limit: MAX_TASKS_PER_USER, message, extra: {} })
}

function isOwn(ownerId: string, id: string) {
  return and(eq(scheduledTasks.id, id), eq(scheduledTasks.ownerId, ownerId))
}

/** Disables all tasks of an owner and ends unfinished runs, in the caller's transaction. */
export function switchOffTasks(tx: Tx, ownerId: string, now: Date): void {
  tx.update(scheduledTasks)
    .set({ enabled: false, nextRunAt: null, updatedAt: now })
    .where(eq(scheduledTasks.ownerId, ownerId))
    .run()
  tx.update(scheduledRuns)
    .set({ status: 'failed', error: 'The account has another owner', finishedAt: now })
    .where(and(eq(scheduledRuns.ownerId, ownerId), inArray(scheduledRuns.status, ['queued', 'running'])))
    .run()
}
