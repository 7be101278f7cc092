import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Sessions } from './sessions.ts'

const HOUR_MS = 3_600_000

/** Forgets sessions that have ended. */
export function sessionsJob(deps: { sessions: Sessions }): RepeatingJob {
  return { name: 'accounts.sessions', everyMs: HOUR_MS, run: () => deps.sessions.deleteExpired() }
}
