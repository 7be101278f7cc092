import { and, eq, inArray, isNull, notInArray } from 'drizzle-orm'
import type { ZodType } from 'zod'
import type { Clock } from '../core/clock.ts'
import { toWholeSecond } from '../core/concurrency/timing.ts'
import { errorMessage } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import type { Log } from '../core/log.ts'
import { inRequest } from '../core/request-id.ts'
import { withoutUserinfo } from '../core/text/url-userinfo.ts'
import { countChanges } from '../db/changes.ts'
import type { Db, Tx } from '../db/open.ts'
import { write } from '../db/write.ts'
import { findNextDue, type JobRow, LEASE_MS, lease, type Places, type Running } from './lease.ts'
import { jobs } from './tables.ts'

/** Interval at which jobs of other processes, and jobs that wait for a free slot, are detected. */
const POLL_MS = 1000
const MAX_PARALLEL = 8
const MAX_SLOW = 32
/** Slow jobs per share, so one user with hundreds of waiting jobs leaves slots for others. */
const MAX_OF_SHARE = 8
const MAX_ATTEMPTS = 8

/** A kind of durable job; payloads are parsed before each run. */
export type JobKind = {
  kind: string
  maxAttempts: number
  isSlow: boolean
  /** The failure was reported to waiting callers, so the job must not be retried later. */
  isFinal: boolean
  run(payload: unknown, signal: AbortSignal): Promise<void>
  onDead(payload: unknown, error: unknown): Promise<void>
}

/**
 * Defines a kind of job. `run` must be idempotent, because it may run again after a crash. After `maxAttempts` failures
 * the job is dead: kept with its last error, and `onDead` reports the failure. `isSlow` jobs, such as agent turns, may
 * take minutes and have their own slots, limited per share.
 */
export function defineJob<Payload>(job: {
  kind: string
  payload: ZodType<Payload>
  maxAttempts?: number
  isSlow?: boolean
  run(payload: Payload, signal: AbortSignal): Promise<void>
  onDead?(payload: Payload, error: unknown): Promise<void>
}): JobKind {
  return {
    kind: job.kind,
    maxAttempts: job.maxAttempts ?? MAX_ATTEMPTS,
    isSlow: job.isSlow ?? false,
    isFinal: job.onDead !== undefined,
    run: async (payload, signal) => job.run(job.payload.parse(payload), signal),
    onDead: async (payload, error) => job.onDead?.(job.payload.parse(payload), error),
  }
}

/** `share` is the id of the user that slow work belongs to; null for the platform. */
type EnqueueOptions = { key?: string; delayMs?: number; share?: string | null }
export type Enqueue = (tx: Tx, kind: string, payload: unknown, options?: EnqueueOptions) => void
export type JobQueue = {
  enqueue: Enqueue
  start(kinds: JobKind[]): void
  /** Returns whether dead jobs of this kind may be retried. */
  canRetry(kind: string): boolean
  stop(): Promise<void>
}

/**
 * Durable jobs: written in the transaction of their cause and run at least once after its commit. Failures are retried
 * with growing pauses. An expired lease makes a job due again.
 */
export function createJobQueue(deps: { db: Db; clock: Clock; log: Log }): JobQueue {
  const quick: Running = new Map()
  const slow: Running = new Map()
  const stopping = new AbortController()
  let kinds = new Map<string, JobKind>()
  let polling = Promise.resolve()
  let timer: Timer | undefined
  let pollsAt = Number.POSITIVE_INFINITY
  let dueAt = Number.POSITIVE_INFINITY
  let dueAsOf = -1

  /** Never postpones a planned poll, so new jobs cannot delay waiting ones. */
  const pollIn = (ms: number) => {
    const at = performance.now() + ms
    if (stopping.signal.aborted || at >= pollsAt) return
    clearTimeout(timer)
    pollsAt = at
    // Leave the request context of the caller that woke the queue.
    timer = setTimeout(() => {
      pollsAt = Number.POSITIVE_INFINITY
      polling = inRequest(undefined, () => polling.then(poll))
    }, ms)
  }

  const poll = async () => {
    if (stopping.signal.aborted) return
    pollIn(toWholeSecond(POLL_MS))
    try {
      const waitMs = findDueTime() - deps.clock.now().getTime()
      if (waitMs > 0) return pollIn(waitMs)
      const slowKinds = [...kinds.values()].filter(({ isSlow }) => isSlow).map(({ kind }) => kind)
      await leaseInto(quick, { count: MAX_PARALLEL, ofShare: MAX_PARALLEL, isWanted: notInArray(jobs.kind, slowKinds) })
      if (slowKinds.length === 0) return
      await leaseInto(slow, { count: MAX_SLOW, ofShare: MAX_OF_SHARE, isWanted: inArray(jobs.kind, slowKinds) })
    } catch (error) {
      deps.log.error({ error: errorMessage(error) }, 'job queue: cannot lease')
    }
  }

  /** Only a write changes when the next job is due. */
  const findDueTime = () => {
    const changes = countChanges(deps.db)
    if (changes !== dueAsOf) [dueAt, dueAsOf] = [findNextDue(deps.db), changes]
    return dueAt
  }

  const leaseInto = async (running: Running, places: Places) => {
    for (const job of await lease(deps, running, places)) runInBackground(running, job)
  }

  const runInBackground = (running: Running, job: JobRow) => {
    const work = runJob(deps, kinds.get(job.kind), job, stopping.signal).finally(() => {
      running.delete(work)
      pollIn(0)
    })
    running.set(work, job.share)
  }

  return {
    enqueue(tx, kind, payload, options = {}) {
      tx.insert(jobs)
        .values(toRow(kind, payload, options, deps.clock.now()))
        .onConflictDoNothing()
        .run()
      // Closures run and commit in the same turn, so the timer fires after the commit.
      if (kinds.size > 0) pollIn(0)
    },
    start(all) {
      kinds = new Map(all.map((kind) => [kind.kind, kind]))
      pollIn(0)
    },
    canRetry: (kind) => kinds.get(kind)?.isFinal === false,
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await polling
      await Promise.allSettled([...quick.keys(), ...slow.keys()])
    },
  }
}

function toRow(
  kind: string,
  payload: unknown,
  { key, share, delayMs }: EnqueueOptions,
  now: Date,
): typeof jobs.$inferInsert {
  const runAt = new Date(now.getTime() + (delayMs ?? 0))
  return {
    id: newId('job'),
    kind,
    key: key ?? null,
    share: share ?? '',
    payload,
    status: 'queued',
    runAt,
    createdAt: now,
  }
}

async function runJob(
  deps: { db: Db; clock: Clock; log: Log },
  kind: JobKind | undefined,
  job: JobRow,
  stopping: AbortSignal,
) {
  const renewal = setInterval(() => {
    renew(deps, job).catch((error) =>
      deps.log.warn({ job: job.id, error: errorMessage(error) }, 'job queue: cannot renew a lease'),
    )
  }, LEASE_MS / 3)
  try {
    if (!kind) throw new Error(`No handler for jobs of kind ${job.kind}`)
    if (job.attempts > maxAttempts(kind)) throw new Error('The process ended during every attempt')
    await kind.run(job.payload, stopping)
    await settle(deps, job, { status: 'done', key: null, finishedAt: deps.clock.now(), lastError: null })
  } catch (error) {
    const record = stopping.aborted ? giveBack(deps, job) : fail(deps, kind, job, error)
    await record.catch((second) =>
      deps.log.error({ job: job.id, error: errorMessage(second) }, 'job queue: cannot record a failure'),
    )
  } finally {
    clearInterval(renewal)
  }
}

/** A run interrupted by a shutdown is no failure: the job is due at the next start. */
async function giveBack(deps: { db: Db; clock: Clock }, job: JobRow): Promise<void> {
  await settle(deps, job, { status: 'queued', runAt: deps.clock.now(), attempts: job.attempts - 1 })
}

async function fail(deps: { db: Db; clock: Clock; log: Log }, kind: JobKind | undefined, job: JobRow, error: unknown) {
  const lastError = withoutUserinfo(errorMessage(error))
  const isDead = job.attempts >= maxAttempts(kind)
  deps.log.warn({ job: job.id, kind: job.kind, attempts: job.attempts, isDead, error: lastError }, 'job failed')
  if (!isDead) {
    const runAt = new Date(deps.clock.now().getTime() + backoffMs(job.attempts))
    await settle(deps, job, { status: 'queued', runAt, lastError })
    return
  }
  await settle(deps, job, { status: 'dead', key: null, finishedAt: deps.clock.now(), lastError })
  await kind?.onDead(job.payload, error)
}

function maxAttempts(kind: JobKind | undefined): number {
  return kind?.maxAttempts ?? MAX_ATTEMPTS
}

/** Doubles from one second to five minutes. */
function backoffMs(attempts: number): number {
  return Math.min(300_000, 1000 * 2 ** (attempts - 1))
}

/** Records an outcome only while the lease is held: another process may have taken the job over. */
async function settle(deps: { db: Db }, job: JobRow, outcome: Partial<JobRow>): Promise<void> {
  await write(deps.db, (tx) => {
    const isReplaced = outcome.status === 'queued' && isWaiting(tx, job.key)
    tx.update(jobs)
      .set({ ...outcome, ...(isReplaced && { status: 'done', key: null }), leaseToken: null, leaseUntil: null })
      .where(isHeld(job))
      .run()
  })
}

/** The same job was enqueued again while this one ran, which replaces a retry. */
function isWaiting(tx: Tx, key: string | null): boolean {
  if (key === null) return false
  const waiting = and(eq(jobs.key, key), eq(jobs.status, 'queued'))
  return tx.select({ id: jobs.id }).from(jobs).where(waiting).get() !== undefined
}

async function renew(deps: { db: Db; clock: Clock }, job: JobRow): Promise<void> {
  const leaseUntil = new Date(deps.clock.now().getTime() + LEASE_MS)
  await write(deps.db, (tx) => tx.update(jobs).set({ leaseUntil }).where(isHeld(job)).run())
}

function isHeld(job: JobRow) {
  return and(eq(jobs.id, job.id), job.leaseToken ? eq(jobs.leaseToken, job.leaseToken) : isNull(jobs.leaseToken))
}

/** Makes leased jobs due at once: only one server runs on a database, so leases of the previous process are stale. */
export async function freeLeases(db: Db, clock: Clock): Promise<void> {
  await write(db, (tx) => tx.update(jobs).set({ leaseUntil: clock.now() }).where(eq(jobs.status, 'running')).run())
}

/** Restarts a dead job with new attempts. @returns false when it is not dead or does not exist. */
export function retryDeadJob(tx: Tx, id: string, now: Date): boolean {
  const anew = { status: 'queued', attempts: 0, runAt: now, finishedAt: null } as const
  return (
    tx
      .update(jobs)
      .set(anew)
      .where(and(eq(jobs.id, id), eq(jobs.status, 'dead')))
      .run().changes === 1
  )
}
