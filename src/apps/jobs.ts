import { forgetJob } from '../features/accounts/forget-job.ts'
import { emailTokensJob, mailJob, sessionsJob, throttlesJob } from '../features/accounts/jobs.ts'
import { catalogueJob } from '../features/ai/jobs.ts'
import { tellAuditJob } from '../features/audit/tell-audit.ts'
import {
  deployJob,
  emptyTrashJob,
  followDownsJob,
  reconcileJob,
  removeJob,
  trashJob,
  watchJob,
} from '../features/deployments/jobs.ts'
import { heartbeatJob } from '../features/heartbeat/due.ts'
import { deliverMailJob } from '../features/inbox/jobs.ts'
import { installationsJob } from '../features/installations/jobs.ts'
import { followLogsJob, forgetLogsJob } from '../features/logs/jobs.ts'
import { sampleJob } from '../features/metrics/jobs.ts'
import { deliveriesJob, notifyJob } from '../features/notifications/jobs.ts'
import { idempotencyJob } from '../features/provisioning/jobs.ts'
import { abandonStreamJob } from '../features/radio/abandon.ts'
import { retentionJob } from '../features/retention/jobs.ts'
import { scheduledRunJob, scheduledTasksJob } from '../features/scheduled-tasks/jobs.ts'
import { securityEventJob } from '../features/security-events/jobs.ts'
import { signInsJob } from '../features/sign-in/jobs.ts'
import { measureStorageJob } from '../features/storage/measure.ts'
import { watchDiskJob } from '../features/storage/watch-disk.ts'
import { askJob, summarizeJob } from '../features/swarms/jobs.ts'
import { underWayJob, usageAlertsJob, usageSpoolJob } from '../features/usage/jobs.ts'
import { videoFilesJob, videoJob } from '../features/video/jobs.ts'
import { endAgentJob, watchdogHistoryJob, watchdogJob } from '../features/watchdog/jobs.ts'
import { webhookEventsJob } from '../features/webhooks/receive.ts'
import { cleanUpJob } from '../jobs/clean-up.ts'
import type { JobKind } from '../jobs/queue.ts'
import type { RepeatingJob } from '../jobs/runner.ts'
import type { Platform } from './platform.ts'

/** Every kind of durable work. One line a kind. */
export function jobKinds(platform: Platform): JobKind[] {
  return [
    deployJob(platform),
    removeJob(platform),
    emptyTrashJob(platform),
    mailJob(platform),
    forgetJob(platform),
    securityEventJob(platform),
    notifyJob(platform),
    endAgentJob(platform),
    deliverMailJob(platform),
    videoJob(platform),
    abandonStreamJob(platform),
    scheduledRunJob(platform),
    askJob(platform),
    summarizeJob(platform),
  ]
}

/** Everything that repeats. One line a timer. */
export function repeatingJobs(platform: Platform): RepeatingJob[] {
  return [
    reconcileJob(platform),
    followDownsJob(platform),
    trashJob(platform),
    followLogsJob(platform),
    forgetLogsJob(platform),
    sampleJob(platform),
    watchJob(platform),
    sessionsJob(platform),
    emailTokensJob(platform),
    throttlesJob(platform),
    signInsJob(platform),
    idempotencyJob(platform),
    catalogueJob(platform),
    installationsJob(platform),
    usageSpoolJob(platform),
    underWayJob(platform),
    usageAlertsJob(platform),
    scheduledTasksJob(platform),
    heartbeatJob(platform),
    webhookEventsJob(platform),
    videoFilesJob(platform),
    cleanUpJob(platform),
    retentionJob(platform),
    watchDiskJob(platform),
    measureStorageJob(platform),
    watchdogJob(platform),
    watchdogHistoryJob(platform),
    deliveriesJob(platform),
    tellAuditJob(platform),
  ]
}
