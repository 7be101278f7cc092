import type { Clock } from '../../../core/clock.ts'
import type { Log } from '../../../core/log.ts'
import type { Db } from '../../../db/open.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { markSilent } from './seen.ts'

const MINUTE_MS = 60_000

/** Tells who has stopped sending heartbeats. */
export function installationsJob(deps: { db: Db; clock: Clock; log: Log }): RepeatingJob {
  return { name: 'installations.silent', everyMs: MINUTE_MS, run: () => markSilent(deps) }
}
