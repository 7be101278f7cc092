import { emailTokensJob, forgetJob, mailJob, sessionsJob, throttlesJob } from '../features/accounts/jobs.ts'
import { catalogueJob } from '../features/ai/jobs.ts'
import { deployJob, reconcileJob, removeJob } from '../features/deployments/jobs.ts'
import { securityEventJob } from '../features/security-events/jobs.ts'
import { signInsJob } from '../features/sign-in/jobs.ts'
import { cleanUpJob } from '../jobs/clean-up.ts'
import type { JobKind } from '../jobs/queue.ts'
import type { RepeatingJob } from '../jobs/runner.ts'
import type { Platform } from './platform.ts'

/** Every kind of durable work. One line a kind. */
export function jobKinds(platform: Platform): JobKind[] {
  return [deployJob(platform), removeJob(platform), mailJob(platform), forgetJob(platform), securityEventJob(platform)]
}

/** Everything that repeats. One line a timer. */
export function repeatingJobs(platform: Platform): RepeatingJob[] {
  return [
    reconcileJob(platform),
    sessionsJob(platform),
    emailTokensJob(platform),
    throttlesJob(platform),
    signInsJob(platform),
    catalogueJob(platform),
    cleanUpJob(platform),
  ]
}
