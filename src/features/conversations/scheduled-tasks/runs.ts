import { and, asc, count, desc, eq, inArray, isNull, notInArray, type SQL, sql } from 'drizzle-orm'
import { z } from 'zod'
import { newId } from '../../../core/ids.ts'
import { beyondNewest } from '../../../db/beyond-newest.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { jobs } from '../../../jobs/tables.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { scheduledRuns, scheduledTasks, type TaskRow, type TaskRunRow } from './tables.ts'

export const RUN_JOB = 'scheduled-tasks.run'
/** Concurrent runs, in total and of one user, because a run may take minutes and must not delay other users. */
const MAX_RUNNING = 4
const MAX_RUNNING_OF_USER = 2
/** Runs kept per task, and heartbeats per agent. */
const RUNS_KEPT = 50
const UNFINISHED = ['queued', 'running'] as const
type NewRun = Pick<TaskRunRow, 'taskId' | 'ownerId' | 'agentId' | 'trigger' | 'dueAt'> & { prompt?: string }

/** Payload of the job: the prompt at the time the run started. */
export const RunJob = z.object({
  runId: z.string(),
  ownerId: z.string(),
  agentId: z.string(),
  prompt: z.string(),
  topic: z.string(),
})
export type RunJob = z.infer<typeof RunJob>

/** Adds a run, which `admitRuns` starts when there is capacity. Null while the previous run is unfinished. */
export function addRun(tx: Tx, request: NewRun): TaskRunRow | null {
  return hasUnfinishedRun(tx, request) ? null : insertRun(tx, request, { status: 'queued' })
}

/** Records that `request` was due while the previous run was unfinished. */
export function skipRun(tx: Tx, request: NewRun, now: Date): void {
  insertRun(tx, request, { status: 'skipped', finishedAt: now, error: 'The run before it was still going' })
}

/** Ends a run and starts the next one; does nothing for a run that has ended or was deleted. */
export function finishRun(deps: Base & { sendNotice: SendNotice }, tx: Tx, runId: string, error: string | null): void {
  const ended = tx
    .update(scheduledRuns)
    .set({ status: error === null ? 'succeeded' : 'failed', error, finishedAt: deps.clock.now() })
    .where(and(eq(scheduledRuns.id, runId), inArray(scheduledRuns.status, UNFINISHED)))
    .returning()
    .get()
  if (ended && error !== null) notifyFailure(deps, tx, ended, error)
  admitRuns(deps, tx, runId)
}

function notifyFailure(
  { sendNotice }: { sendNotice: SendNotice },
  tx: Tx,
  { ownerId, agentId, trigger }: TaskRunRow,
  error: string,
): void {
  const name = tx.select({ name: agents.name }).from(agents).where(eq(agents.id, agentId)).get()?.name ?? agentId
  const what = trigger === 'heartbeat' ? 'A heartbeat' : 'A scheduled task'
  const text = `${what} failed: ${error}`
  sendNotice(tx, { userId: ownerId, agent: { id: agentId, name }, kind: 'task_failed', text })
}

/** Enqueues jobs for waiting runs while there is capacity, oldest first. The job of `endedRunId` no longer counts. */
export function admitRuns(deps: Base, tx: Tx, endedRunId = ''): void {
  for (;;) {
    const owners = listBusyOwners(tx, endedRunId)
    const isFull = owners.reduce((runs, owner) => runs + owner.runs, 0) >= MAX_RUNNING
    const next = isFull ? undefined : findNextWaiting(tx, owners)
    if (!next) return
    const { run, task } = next
    tx.update(scheduledRuns)
      .set({ status: 'running', startedAt: deps.clock.now() })
      .where(eq(scheduledRuns.id, run.id))
      .run()
    deps.enqueue(tx, RUN_JOB, toJob(run, task), { key: run.id, share: run.ownerId })
  }
}

export function findRun(db: Db | Tx, id: string): TaskRunRow | undefined {
  return db.select().from(scheduledRuns).where(eq(scheduledRuns.id, id)).get()
}

/** Lists the kept runs of a task, newest first. */
export function listTaskRuns(db: Db, taskId: string): TaskRunRow[] {
  const isOfTask = eq(scheduledRuns.taskId, taskId)
  return db.select().from(scheduledRuns).where(isOfTask).orderBy(desc(scheduledRuns.sequence)).limit(RUNS_KEPT).all()
}

type BusyOwner = { ownerId: string; runs: number }

/** Counts jobs, not runs: the job of a run that was deleted with its task or agent still runs. */
function listBusyOwners(tx: Tx, endedRunId: string): BusyOwner[] {
  const ownerId = sql<string>`json_extract(${jobs.payload}, '$.ownerId')`
  const isOther = sql`json_extract(${jobs.payload}, '$.runId') <> ${endedRunId}`
  return tx
    .select({ ownerId, runs: count() })
    .from(jobs)
    .where(and(eq(jobs.kind, RUN_JOB), inArray(jobs.status, UNFINISHED), isOther))
    .groupBy(ownerId)
    .all()
}

function findNextWaiting(tx: Tx, owners: BusyOwner[]): { run: TaskRunRow; task: TaskRow | null } | undefined {
  const full = owners.filter(({ runs }) => runs >= MAX_RUNNING_OF_USER).map(({ ownerId }) => ownerId)
  return tx
    .select({ run: scheduledRuns, task: scheduledTasks })
    .from(scheduledRuns)
    .leftJoin(scheduledTasks, eq(scheduledTasks.id, scheduledRuns.taskId))
    .where(and(eq(scheduledRuns.status, 'queued'), notInArray(scheduledRuns.ownerId, full)))
    .orderBy(asc(scheduledRuns.sequence))
    .limit(1)
    .get()
}

function toJob(run: TaskRunRow, task: TaskRow | null): RunJob {
  const { id: runId, ownerId, agentId } = run
  const prompt = run.prompt ?? task?.prompt ?? ''
  return { runId, ownerId, agentId, prompt, topic: run.taskId === null ? 'heartbeat' : 'scheduled' }
}

function insertRun(tx: Tx, request: NewRun, outcome: Pick<TaskRunRow, 'status'> & Partial<TaskRunRow>): TaskRunRow {
  const row = tx
    .insert(scheduledRuns)
    .values({ ...request, ...outcome, id: newId('run') })
    .returning()
    .get()
  forgetOldRuns(tx, request)
  return row
}

function hasUnfinishedRun(tx: Tx, request: NewRun): boolean {
  const isUnfinished = and(isOfSame(request), inArray(scheduledRuns.status, UNFINISHED))
  return tx.select({ id: scheduledRuns.id }).from(scheduledRuns).where(isUnfinished).get() !== undefined
}

function forgetOldRuns(tx: Tx, request: NewRun): void {
  const condition = isOfSame(request)
  const isOld = beyondNewest(tx, { condition, newest: scheduledRuns.sequence, count: RUNS_KEPT })
  if (!isOld) return
  tx.delete(scheduledRuns)
    .where(and(isOld, notInArray(scheduledRuns.status, [...UNFINISHED])))
    .run()
}

function isOfSame({ taskId, agentId }: NewRun): SQL | undefined {
  if (taskId !== null) return eq(scheduledRuns.taskId, taskId)
  return and(isNull(scheduledRuns.taskId), eq(scheduledRuns.agentId, agentId))
}
