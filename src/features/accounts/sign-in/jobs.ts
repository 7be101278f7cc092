import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { deleteExpiredSignIns } from './single-use.ts'

const TEN_MINUTES_MS = 600_000

/** Forgets sign-ins that were begun and never came back. */
export function signInsJob(deps: { db: Db; clock: Clock }): RepeatingJob {
  return { name: 'sign-in.expired', everyMs: TEN_MINUTES_MS, run: (signal) => deleteExpiredSignIns(deps, signal) }
}
