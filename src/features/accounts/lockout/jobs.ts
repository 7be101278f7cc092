import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { deleteOldThrottles } from './throttle.ts'

const HOUR_MS = 3_600_000

/** Forgets failed attempts and used proofs of work whose time is over. */
export function throttlesJob({ db, clock }: { db: Db; clock: Clock }): RepeatingJob {
  return { name: 'accounts.throttles', everyMs: HOUR_MS, run: (signal) => deleteOldThrottles(db, clock, signal) }
}
