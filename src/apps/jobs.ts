import { followClonePaymentsJob } from '../features/agents/cloning/follow-payments.ts'
import { deployJob, removeJob } from '../features/agents/deployments/jobs.ts'
import { installationsJob } from '../features/agents/installations/jobs.ts'
import { followLogsJob, forgetLogsJob } from '../features/agents/logs/jobs.ts'
import { idempotencyJob } from '../features/agents/provisioning/jobs.ts'
import { followDownsJob, reconcileJob, watchJob } from '../features/agents/reconciliation/jobs.ts'
import { sleepJob } from '../features/agents/sleep/jobs.ts'
import { emptyTrashJob, trashJob } from '../features/agents/snapshots/jobs.ts'
import { measureStorageJob } from '../features/agents/storage/measure.ts'
import { watchDiskJob } from '../features/agents/storage/watch-disk.ts'
import { endAgentJob, watchdogHistoryJob, watchdogJob } from '../features/agents/watchdog/jobs.ts'
import { backupsJob } from '../features/house/backups/jobs.ts'
import { backupTaskJob } from '../features/house/backups/order.ts'
import { forgetJob } from '../features/house/personal-data/jobs.ts'
import { retentionJob } from '../features/house/retention/jobs.ts'
import { releaseFeedJob } from '../features/house/updates/release-feed.ts'
import { capAlertsJob } from '../features/models/breakers/alerts.ts'
import { catalogueJob } from '../features/models/gateway/jobs.ts'
import { underWayJob, usageAlertsJob, usageSpoolJob } from '../features/models/usage/jobs.ts'
import { endDuplicateJob } from '../features/money/cards/duplicates.ts'
import { endSubscriptionJob } from '../features/money/cards/end.ts'
import { cardEventsJob } from '../features/money/cards/events.ts'
import { cardGraceJob } from '../features/money/cards/subscriptions.ts'
import { gatewayRefundsJob } from '../features/money/paid-gateway/payments.ts'
import { gatewaySettlementsJob } from '../features/money/paid-gateway/settle.ts'
import { followSplitsJob, startSplitJob } from '../features/money/splits/jobs.ts'
import { deliverMessageJob } from '../features/money/underground/deliver-message.ts'
import { forgetMessagesJob } from '../features/money/underground/jobs.ts'
import { settlePaymentsJob } from '../features/money/wallets/jobs.ts'
import { tellAuditJob } from '../features/people/audit/tell-audit.ts'
import { throttlesJob } from '../features/people/lockout/jobs.ts'
import { emailTokensJob, mailJob } from '../features/people/mails/jobs.ts'
import { noticeJob, oldNoticesJob, remindersJob } from '../features/people/notices/jobs.ts'
import { deliveriesJob, notifyJob } from '../features/people/notifications/jobs.ts'
import { securityEventJob } from '../features/people/security-events/jobs.ts'
import { sessionsJob } from '../features/people/sessions/jobs.ts'
import { signInsJob } from '../features/people/sign-in/jobs.ts'
import { expireApprovalsJob } from '../features/talk/approvals/decide.ts'
import { resumeJob } from '../features/talk/approvals/resume.ts'
import { heartbeatJob } from '../features/talk/heartbeat/due.ts'
import { answerMailJob, codeMailJob, welcomeMailJob } from '../features/talk/inbox/answer.ts'
import { deliverMailJob } from '../features/talk/inbox/jobs.ts'
import { scheduledRunJob, scheduledTasksJob } from '../features/talk/scheduled-tasks/jobs.ts'
import { askJob, summarizeJob } from '../features/talk/swarms/jobs.ts'
import { answerByWebhookJob, askByWebhookJob, webhookDeliveriesJob } from '../features/talk/webhook-channel/jobs.ts'
import { sampleJob } from '../features/views/metrics/jobs.ts'
import { abandonStreamJob } from '../features/web-tools/radio/abandon.ts'
import { videoFilesJob, videoJob } from '../features/web-tools/video/jobs.ts'
import { webhookEventsJob } from '../features/web-tools/webhooks/receive.ts'
import { cleanUpJob } from '../jobs/clean-up.ts'
import type { JobKind } from '../jobs/queue.ts'
import type { RepeatingJob } from '../jobs/runner.ts'
import type { Platform } from './platform.ts'

/** Every kind of durable work. One line a kind. */
export function jobKinds({ people, agents, money, talk, webTools, house }: Platform): JobKind[] {
  return [
    deployJob(agents),
    removeJob(agents),
    emptyTrashJob(agents),
    mailJob(people),
    forgetJob(house),
    securityEventJob(people),
    notifyJob(people),
    noticeJob(people),
    endAgentJob(agents),
    endSubscriptionJob(money),
    endDuplicateJob(money),
    deliverMailJob(talk),
    answerMailJob(talk),
    codeMailJob(talk),
    welcomeMailJob(talk),
    askByWebhookJob(talk),
    answerByWebhookJob(talk),
    resumeJob(talk),
    videoJob(webTools),
    abandonStreamJob(webTools),
    scheduledRunJob(talk),
    askJob(talk),
    summarizeJob(talk),
    deliverMessageJob(money),
    startSplitJob(money),
    backupTaskJob(house),
  ]
}

/** Everything that repeats. One line a timer. */
export function repeatingJobs(platform: Platform): RepeatingJob[] {
  const { people, agents, models, money, talk, webTools, views, house } = platform
  return [
    reconcileJob(agents),
    followDownsJob(agents),
    trashJob(agents),
    followLogsJob(agents),
    forgetLogsJob(agents),
    sampleJob(views),
    watchJob(agents),
    sleepJob(agents),
    sessionsJob(people),
    emailTokensJob(people),
    remindersJob(people),
    oldNoticesJob(people),
    throttlesJob(people),
    signInsJob(people),
    idempotencyJob(agents),
    catalogueJob(models),
    installationsJob(agents),
    usageSpoolJob(models),
    underWayJob(models),
    usageAlertsJob(models),
    capAlertsJob(models),
    followClonePaymentsJob(agents),
    settlePaymentsJob(money),
    followSplitsJob(money),
    cardGraceJob(money),
    gatewaySettlementsJob(money),
    gatewayRefundsJob(money),
    cardEventsJob(money),
    scheduledTasksJob(talk),
    heartbeatJob(talk),
    expireApprovalsJob(talk),
    webhookEventsJob(webTools),
    webhookDeliveriesJob(talk),
    videoFilesJob(webTools),
    cleanUpJob(people),
    retentionJob(house),
    backupsJob(house),
    releaseFeedJob(house),
    watchDiskJob(agents),
    measureStorageJob(agents),
    watchdogJob(agents),
    watchdogHistoryJob(agents),
    deliveriesJob(people),
    tellAuditJob(people),
    forgetMessagesJob(money),
  ]
}
