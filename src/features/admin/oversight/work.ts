import { and, eq, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { isBehind, type NewestFirst, newestFirst, type Place } from '../../../db/pages/newest-first.ts'
import { readPage } from '../../../db/pages/read-page.ts'
import { write } from '../../../db/write.ts'
import { type JobQueue, retryDeadJob } from '../../../jobs/queue.ts'
import { jobs } from '../../../jobs/tables.ts'
import { readStateCounts } from '../../monitoring/tracing/totals.ts'
import { type Administrator, audit } from '../accounts/change-account.ts'
import type { JobList, JobsQuery, ShownJob } from './schemas.ts'

export type WorkDeps = { db: Db; clock: Clock; canRetry: JobQueue['canRetry'] }

/** The order in which work of one state is shown. */
const JOBS: NewestFirst = { table: jobs, time: jobs.runAt, id: sql`rowid` }

/** A page of the durable work in one state, latest due first. @throws AppError `invalid` when `after` is no job. */
export function listJobs(deps: WorkDeps, { state, limit, after }: JobsQuery): JobList {
  const isEarlier = after === undefined ? undefined : isBehind(JOBS, getPlace(deps.db, after))
  const selection = deps.db
    .select()
    .from(jobs)
    .where(and(eq(jobs.status, state), isEarlier))
    .orderBy(...newestFirst(JOBS))
  const { rows, last } = readPage(selection, limit)
  const counts = { queued: 0, running: 0, dead: 0, ...countJobs(deps.db) }
  return { jobs: rows.map((row) => toShownJob(deps, row)), counts, next: last?.id ?? null }
}

/**
 * Has dead work tried anew, with as many attempts as at first.
 * @throws AppError `not_found`, or `conflict` for what is not dead, or of which people were told that it failed.
 */
export async function retryJob(deps: WorkDeps, by: Administrator, id: string): Promise<ShownJob> {
  const row = await write(deps.db, (tx) => {
    const job = getJob(tx, id)
    if (!deps.canRetry(job.kind)) throw new AppError('conflict', 'Whoever waited for this was told that it failed')
    if (!retryDeadJob(tx, id, deps.clock.now())) throw new AppError('conflict', 'Only dead jobs are tried anew')
    audit(tx, by, { action: 'job.retry', target: id, detail: { kind: job.kind } }, deps.clock.now())
    return getJob(tx, id)
  })
  return toShownJob(deps, row)
}

/** How much durable work there is in each state; states without any are not named. */
export function countJobs(db: Db): Record<string, number> {
  const counts = readStateCounts(db).filter(({ subject }) => subject === 'jobs')
  return Object.fromEntries(counts.map(({ state, rows }) => [state, rows]))
}

type JobRow = typeof jobs.$inferSelect

function getJob(db: Db, id: string): JobRow {
  const row = db.select().from(jobs).where(eq(jobs.id, id)).get()
  if (!row) throw new AppError('not_found', 'Job not found')
  return row
}

function toShownJob({ canRetry }: Pick<WorkDeps, 'canRetry'>, row: JobRow): ShownJob {
  return {
    id: row.id,
    kind: row.kind,
    state: row.status,
    attempts: row.attempts,
    lastError: row.lastError,
    canRetry: row.status === 'dead' && canRetry(row.kind),
    createdAt: row.createdAt.toISOString(),
    runAt: row.runAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
  }
}

function getPlace(db: Db, id: string): Place {
  const place = db.select({ time: jobs.runAt, id: sql<number>`rowid` }).from(jobs).where(eq(jobs.id, id)).get()
  if (!place) throw new AppError('invalid', 'after is not a job')
  return place
}
