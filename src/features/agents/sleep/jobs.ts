import type { RepeatingJob } from '../../../jobs/runner.ts'
import { letIdleSleep, type SleepDeps } from './fall-asleep.ts'

/** Idle agents are looked for so often, or four times in the time after which they sleep. */
const LOOK_MS = 30_000
const LEAST_LOOK_MS = 100

/** Agents fall asleep that nobody needs. */
export function sleepJob(deps: SleepDeps): RepeatingJob {
  const quarterMs = (deps.sleepAfterMs ?? LOOK_MS) / 4
  const everyMs = Math.min(LOOK_MS, Math.max(LEAST_LOOK_MS, quarterMs))
  return { name: 'agents.sleep', everyMs, run: () => letIdleSleep(deps) }
}
