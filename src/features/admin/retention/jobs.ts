import type { Connection } from '../../../db/open.ts'
import { giveBackSpace } from '../../../db/space.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { type ForgetDeps, forgetOldRows } from './forget.ts'

const HOUR_MS = 3_600_000

/** Deletes what is older than its retention, and gives the space of what was deleted back to the disk; both in small steps. */
export function retentionJob(deps: ForgetDeps & { connection: Connection }): RepeatingJob {
  return {
    name: 'retention',
    everyMs: HOUR_MS,
    async run(signal) {
      await forgetOldRows(deps, signal)
      await giveBackSpace(deps.connection, signal)
    },
  }
}
