import { sessionsJob } from '../features/accounts/jobs.ts'
import { catalogueJob } from '../features/ai/jobs.ts'
import { deployJob, reconcileJob, removeJob } from '../features/deployments/jobs.ts'
import type { JobKind } from '../jobs/queue.ts'
import type { RepeatingJob } from '../jobs/runner.ts'
import type { Platform } from './platform.ts'

/** Every kind of durable work. One line a kind. */
export function jobKinds(platform: Platform): JobKind[] {
  return [deployJob(platform), removeJob(platform)]
}

/** Everything that repeats. One line a timer. */
export function repeatingJobs(platform: Platform): RepeatingJob[] {
  return [reconcileJob(platform), sessionsJob(platform), catalogueJob(platform)]
}
