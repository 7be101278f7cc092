import { and, lt, ne } from 'drizzle-orm'
import { addDays, type Clock } from '../../../core/clock.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db } from '../../../db/open.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { busMessages } from './tables.ts'

const HOUR_MS = 3_600_000
const DAYS_KEPT = 90

/** Forgets messages of agents after 90 days; dead letters wait for somebody to look at them. */
export function forgetMessagesJob({ db, clock }: { db: Db; clock: Clock }): RepeatingJob {
  return {
    name: 'bus messages',
    everyMs: HOUR_MS,
    async run(signal) {
      const isOld = lt(busMessages.createdAt, addDays(clock.now(), -DAYS_KEPT))
      await deleteInBatches(db, busMessages, and(isOld, ne(busMessages.status, 'dead')), signal)
    },
  }
}
