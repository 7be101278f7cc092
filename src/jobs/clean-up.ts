import { and, eq, lte } from 'drizzle-orm'
import { addDays, type Clock } from '../core/clock.ts'
import { deleteInBatches } from '../db/in-batches.ts'
import type { Db } from '../db/open.ts'
import type { RepeatingJob } from './runner.ts'
import { jobs } from './tables.ts'

const HOUR_MS = 3_600_000
/** Long enough to investigate failures. Unauthenticated requests can create jobs, so none is kept forever. */
const DAYS_KEPT = { done: 1, dead: 30 } as const

/** Deletes jobs that succeeded a day ago or failed for good a month ago. */
export function cleanUpJob(deps: { db: Db; clock: Clock }): RepeatingJob {
  return { name: 'jobs.clean-up', everyMs: HOUR_MS, run: (signal) => deleteFinishedJobs(deps, signal) }
}

async function deleteFinishedJobs({ db, clock }: { db: Db; clock: Clock }, signal: AbortSignal): Promise<void> {
  for (const status of ['done', 'dead'] as const) {
    const before = addDays(clock.now(), -DAYS_KEPT[status])
    const isOld = and(eq(jobs.status, status), lte(jobs.runAt, before), lte(jobs.finishedAt, before))
    await deleteInBatches(db, jobs, isOld, signal)
  }
}
