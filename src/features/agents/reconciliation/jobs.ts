import type { RepeatingJob } from '../../../jobs/runner.ts'
import { type FollowDownsDeps, followDowns } from './follow-downs.ts'
import { createReconciler, type ReconcileDeps } from './reconcile.ts'
import { watchAgents } from './watch.ts'

const RECONCILE_MS = 30_000
/** How soon agents are followed, and again when that failed. */
const FOLLOW_MS = 100
/** How soon the runtimes are listened to again when that failed. */
const WATCH_AGAIN_MS = 5000

export function reconcileJob(deps: ReconcileDeps): RepeatingJob {
  const reconcile = createReconciler(deps)
  return { name: 'agents.reconcile', everyMs: RECONCILE_MS, run: reconcile }
}

/** Owners are told at once when an agent is down, and when it is back. */
export function followDownsJob(deps: FollowDownsDeps): RepeatingJob {
  return { name: 'agents.downs', everyMs: FOLLOW_MS, run: (signal) => followDowns(deps, signal) }
}

export function watchJob(deps: ReconcileDeps): RepeatingJob {
  return { name: 'agents.watch', everyMs: WATCH_AGAIN_MS, run: (signal) => watchAgents(deps, signal) }
}
