import { logAuditJob } from '../features/accounts/audit/audit.ts'
import { throttlesJob } from '../features/accounts/lockout/throttle.ts'
import { noticeJob, oldNoticesJob, remindersJob } from '../features/accounts/notifications/deliver.ts'
import { deliveriesJob, notifyJob } from '../features/accounts/notifications/notify-operators.ts'
import { emailTokensJob, mailJob } from '../features/accounts/notifications/send-mail.ts'
import { securityEventJob } from '../features/accounts/security-events/act.ts'
import { sessionsJob } from '../features/accounts/sessions/sessions.ts'
import { signInsJob } from '../features/accounts/sign-in/attempts.ts'
import { backupsJob, backupTaskJob } from '../features/admin/backups/jobs.ts'
import { forgetJob } from '../features/admin/personal-data/delete-account.ts'
import { retentionJob } from '../features/admin/retention/retention.ts'
import { releaseFeedJob } from '../features/admin/updates/release-feed.ts'
import { followClonePaymentsJob } from '../features/agents/cloning/follow-payments.ts'
import { deployJob, removeJob } from '../features/agents/deployments/run.ts'
import { pairingCodesJob } from '../features/agents/installations/pairing.ts'
import { installationsJob } from '../features/agents/installations/service.ts'
import { machinesJob } from '../features/agents/installations/tunnel-state.ts'
import { keepStatesJob } from '../features/agents/kept-states/jobs.ts'
import { followLogsJob, forgetLogsJob } from '../features/agents/logs/ingest.ts'
import { idempotencyJob } from '../features/agents/provisioning/provision.ts'
import { outagesJob, reconcileJob, watchJob } from '../features/agents/reconciliation/reconcile.ts'
import { sleepJob } from '../features/agents/sleep/sleep.ts'
import { emptyTrashJob, trashJob } from '../features/agents/snapshots/trash.ts'
import { watchDiskJob } from '../features/agents/storage/disk.ts'
import { measureStorageJob } from '../features/agents/storage/measure.ts'
import { endAgentJob, watchdogHistoryJob, watchdogJob } from '../features/agents/watchdog/jobs.ts'
import { capAlertsJob } from '../features/ai/breakers/alerts.ts'
import { stopAtLimitJob } from '../features/ai/breakers/reach-limit.ts'
import { catalogueJob } from '../features/ai/catalogue/catalogue.ts'
import { underWayJob, usageAlertsJob, usageSpoolJob } from '../features/ai/usage/jobs.ts'
import { agentTestJob } from '../features/conversations/agent-tests/run.ts'
import { expireApprovalsJob, resumeJob } from '../features/conversations/approvals/decide.ts'
import { heartbeatJob } from '../features/conversations/heartbeat/heartbeat.ts'
import { answerMailJob, codeMailJob, welcomeMailJob } from '../features/conversations/inbox/answer.ts'
import { deliverMailJob } from '../features/conversations/inbox/jobs.ts'
import { mcpAttemptsJob } from '../features/conversations/mcp-servers/authorize.ts'
import { revokeTokensJob } from '../features/conversations/mcp-servers/revoke.ts'
import { scheduledRunJob, scheduledTasksJob } from '../features/conversations/scheduled-tasks/jobs.ts'
import { askJob, summarizeJob } from '../features/conversations/swarms/ask.ts'
import {
  answerByWebhookJob,
  askByWebhookJob,
  webhookDeliveriesJob,
} from '../features/conversations/webhook-channel/jobs.ts'
import { anomalyNoticesJob } from '../features/monitoring/costs/anomaly-notices.ts'
import { sampleJob } from '../features/monitoring/metrics/sample.ts'
import { endDuplicateJob, endSubscriptionJob } from '../features/payments/cards/end.ts'
import { cardEventsJob } from '../features/payments/cards/events.ts'
import { cardGraceJob } from '../features/payments/cards/subscriptions.ts'
import { gatewayRefundsJob } from '../features/payments/paid-gateway/payments.ts'
import { gatewaySettlementsJob } from '../features/payments/paid-gateway/settle.ts'
import { followSplitsJob, startSplitJob } from '../features/payments/splits/settle-split.ts'
import { deliverMessageJob, forgetMessagesJob } from '../features/payments/underground/delivery.ts'
import { settlePaymentsJob } from '../features/payments/wallets/decide.ts'
import { abandonStreamJob } from '../features/web-tools/radio/streams.ts'
import { videoFilesJob, videoJob } from '../features/web-tools/video/jobs.ts'
import { webhookEventsJob } from '../features/web-tools/webhooks/receive.ts'
import { cleanUpJob } from '../jobs/clean-up.ts'
import type { JobKind } from '../jobs/queue.ts'
import type { RepeatingJob } from '../jobs/runner.ts'
import type { Platform } from './platform.ts'

/** Returns every kind of queued job, one line each. */
export function jobKinds({ accounts, agents, payments, conversations, webTools, admin }: Platform): JobKind[] {
  return [
    deployJob(agents),
    removeJob(agents),
    emptyTrashJob(agents),
    mailJob(accounts),
    forgetJob(admin),
    securityEventJob(accounts),
    notifyJob(accounts),
    noticeJob(accounts),
    endAgentJob(agents),
    stopAtLimitJob(agents),
    endSubscriptionJob(payments),
    endDuplicateJob(payments),
    deliverMailJob(conversations),
    answerMailJob(conversations),
    codeMailJob(conversations),
    welcomeMailJob(conversations),
    askByWebhookJob(conversations),
    answerByWebhookJob(conversations),
    resumeJob(conversations),
    videoJob(webTools),
    abandonStreamJob(webTools),
    scheduledRunJob(conversations),
    askJob(conversations),
    summarizeJob(conversations),
    agentTestJob(conversations),
    revokeTokensJob(conversations),
    deliverMessageJob(payments),
    startSplitJob(payments),
    backupTaskJob(admin),
  ]
}

/** Returns every repeating job, one line each. */
export function repeatingJobs(platform: Platform): RepeatingJob[] {
  const { accounts, agents, ai, payments, conversations, webTools, monitoring, admin } = platform
  return [
    reconcileJob(agents),
    outagesJob(agents),
    trashJob(agents),
    keepStatesJob(agents),
    followLogsJob(agents),
    forgetLogsJob(agents),
    sampleJob(monitoring),
    anomalyNoticesJob(monitoring),
    watchJob(agents),
    sleepJob(agents),
    sessionsJob(accounts),
    emailTokensJob(accounts),
    remindersJob(accounts),
    oldNoticesJob(accounts),
    throttlesJob(accounts),
    signInsJob(accounts),
    mcpAttemptsJob(conversations),
    idempotencyJob(agents),
    catalogueJob(ai),
    installationsJob(agents),
    machinesJob(agents),
    pairingCodesJob(agents),
    usageSpoolJob(ai),
    underWayJob(ai),
    usageAlertsJob(ai),
    capAlertsJob(ai),
    followClonePaymentsJob(agents),
    settlePaymentsJob(payments),
    followSplitsJob(payments),
    cardGraceJob(payments),
    gatewaySettlementsJob(payments),
    gatewayRefundsJob(payments),
    cardEventsJob(payments),
    scheduledTasksJob(conversations),
    heartbeatJob(conversations),
    expireApprovalsJob(conversations),
    webhookEventsJob(webTools),
    webhookDeliveriesJob(conversations),
    videoFilesJob(webTools),
    cleanUpJob(accounts),
    retentionJob(admin),
    backupsJob(admin),
    releaseFeedJob(admin),
    watchDiskJob(agents),
    measureStorageJob(agents),
    watchdogJob(agents),
    watchdogHistoryJob(agents),
    deliveriesJob(accounts),
    logAuditJob(accounts),
    forgetMessagesJob(payments),
  ]
}
