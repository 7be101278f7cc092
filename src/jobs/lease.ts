import { and, asc, eq, isNotNull, lte, not, notInArray, or, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../core/clock.ts'
import { newId } from '../core/ids.ts'
import type { Db, Tx } from '../db/open.ts'
import { prepareOnce } from '../db/prepare-once.ts'
import { write } from '../db/write.ts'
import { jobs } from './tables.ts'

export type JobRow = typeof jobs.$inferSelect

/** A job belongs to its worker for this time unless the lease is renewed. */
export const LEASE_MS = 60_000

/** Running jobs with their shares. */
export type Running = Map<Promise<void>, string>
/** The number of slots, the maximum per share, and the kinds of jobs for them. */
export type Places = { count: number; ofShare: number; isWanted: SQL }

/** Fills free slots with due jobs of the wanted kinds, oldest first, including jobs with an expired lease. */
export async function lease(deps: { db: Db; clock: Clock }, running: Running, places: Places): Promise<JobRow[]> {
  const taken = [...running.values()]
  if (taken.length >= places.count || !hasDueJob(deps, and(places.isWanted, hasPlace(taken, places)))) return []
  return write(deps.db, (tx) => {
    const leased: JobRow[] = []
    while (taken.length < places.count) {
      const found = findDue(tx, deps.clock.now(), taken, places)
      if (found.length === 0) break
      for (const job of found) {
        if (countOf(taken, job.share) >= places.ofShare) continue
        taken.push(job.share)
        leased.push(takeLease(tx, job, deps.clock.now()))
      }
    }
    return leased
  })
}

function findDue(tx: Tx, now: Date, taken: readonly string[], places: Places): JobRow[] {
  return tx
    .select()
    .from(jobs)
    .where(and(isDue(now), places.isWanted, hasPlace(taken, places)))
    .orderBy(asc(jobs.runAt))
    .limit(places.count - taken.length)
    .all()
}

function takeLease(tx: Tx, job: JobRow, now: Date): JobRow {
  const held = { leaseToken: newId('lease'), leaseUntil: new Date(now.getTime() + LEASE_MS) }
  return tx
    .update(jobs)
    .set({ ...held, status: 'running', attempts: job.attempts + 1 })
    .where(eq(jobs.id, job.id))
    .returning()
    .get()
}

/** Matches jobs whose share has a free slot. */
function hasPlace(taken: readonly string[], { ofShare }: Places): SQL | undefined {
  const full = [...new Set(taken)].filter((share) => countOf(taken, share) >= ofShare)
  return full.length === 0 ? undefined : notInArray(jobs.share, full)
}

function countOf(taken: readonly string[], share: string): number {
  return taken.filter((one) => one === share).length
}

function hasDueJob({ db, clock }: { db: Db; clock: Clock }, isWanted: SQL | undefined): boolean {
  const isDueNow = and(isDue(clock.now()), isWanted)
  return db.select({ id: jobs.id }).from(jobs).where(isDueNow).limit(1).get() !== undefined
}

/** A queued job waits for the running one with the same key. */
const isBlocked = sql`EXISTS (SELECT 1 FROM jobs AS other WHERE other.key = ${jobs.key} AND other.status = 'running')`

function isDue(now: Date) {
  return or(
    and(eq(jobs.status, 'queued'), lte(jobs.runAt, now), not(isBlocked)),
    and(eq(jobs.status, 'running'), lte(jobs.leaseUntil, now)),
  )
}

const nextQueued = prepareOnce((db) => {
  const isWaiting = and(eq(jobs.status, 'queued'), not(isBlocked))
  return db.select({ at: jobs.runAt }).from(jobs).where(isWaiting).orderBy(asc(jobs.runAt)).limit(1).prepare()
})
const nextExpiry = prepareOnce((db) => {
  const isLeased = and(eq(jobs.status, 'running'), isNotNull(jobs.leaseUntil))
  return db.select({ at: jobs.leaseUntil }).from(jobs).where(isLeased).orderBy(asc(jobs.leaseUntil)).limit(1).prepare()
})

/** Returns when the next job is due, in milliseconds since the epoch; infinity without waiting or running jobs. */
export function findNextDue(db: Db): number {
  const times = [nextQueued(db).get(), nextExpiry(db).get()].map(
    (row) => row?.at?.getTime() ?? Number.POSITIVE_INFINITY,
  )
  return Math.min(...times)
}
