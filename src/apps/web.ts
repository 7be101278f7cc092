import { Hono } from 'hono'
import { agentConfigRoutes } from '../features/agents/agents/config-routes.ts'
import { agentsWeb } from '../features/agents/agents/web.ts'
import { cloningWeb } from '../features/agents/cloning/web.ts'
import { lifecycleWeb } from '../features/agents/deployments/lifecycle-web.ts'
import { deploymentsWeb } from '../features/agents/deployments/web.ts'
import { installationsWeb } from '../features/agents/installations/web.ts'
import { logsWeb } from '../features/agents/logs/web.ts'
import { provisioningWeb } from '../features/agents/provisioning/web.ts'
import { refuseWritesOnFullDisk } from '../features/agents/storage/disk-guard.ts'
import { verificationWeb } from '../features/agents/verification/web.ts'
import { watchdogWeb } from '../features/agents/watchdog/web.ts'
import { administrationWeb } from '../features/house/administration/web.ts'
import { personalDataWeb } from '../features/house/personal-data/web.ts'
import { demoWeb } from '../features/models/demo/web.ts'
import { aiWeb } from '../features/models/gateway/web.ts'
import { usageWeb } from '../features/models/usage/web.ts'
import { billingWeb } from '../features/money/billing/web.ts'
import { ledgerWeb } from '../features/money/ledger/web.ts'
import { paymentsWeb } from '../features/money/wallets/payments-web.ts'
import { walletsWeb } from '../features/money/wallets/web.ts'
import { settingsWeb } from '../features/people/accounts/settings-web.ts'
import { accountsWeb } from '../features/people/accounts/web.ts'
import { keysWeb } from '../features/people/keys/web.ts'
import { notificationsWeb } from '../features/people/notifications/web.ts'
import { passwordWeb } from '../features/people/passwords/web.ts'
import { securityEventsWeb } from '../features/people/security-events/web.ts'
import { sessionsWeb } from '../features/people/sessions/web.ts'
import { signInWeb } from '../features/people/sign-in/web.ts'
import { socialIdentityWeb } from '../features/people/social-identity/web.ts'
import { twoFactorWeb } from '../features/people/two-factor/web.ts'
import { agentTalkWeb } from '../features/talk/agent-talk/web.ts'
import { agentMessagesRoutes } from '../features/talk/chat/agent-messages-routes.ts'
import { chatWeb } from '../features/talk/chat/web.ts'
import { heartbeatWeb } from '../features/talk/heartbeat/web.ts'
import { inboxWeb } from '../features/talk/inbox/web.ts'
import { memoryWeb } from '../features/talk/memory/web.ts'
import { scheduledTasksWeb } from '../features/talk/scheduled-tasks/web.ts'
import { swarmsWeb } from '../features/talk/swarms/web.ts'
import { colonyWeb } from '../features/views/colony/web.ts'
import { probes } from '../features/views/health/probes.ts'
import { healthWeb } from '../features/views/health/web.ts'
import { instancesWeb } from '../features/views/instances/web.ts'
import { agentStatsRoutes } from '../features/views/metrics/agent-stats-routes.ts'
import { metricsWeb } from '../features/views/metrics/web.ts'
import { missionControlWeb } from '../features/views/mission-control/web.ts'
import { browseWeb } from '../features/web-tools/browse/web.ts'
import { feedsWeb } from '../features/web-tools/feeds/web.ts'
import { radioWeb } from '../features/web-tools/radio/web.ts'
import { videoWeb } from '../features/web-tools/video/web.ts'
import { webhooksWeb } from '../features/web-tools/webhooks/web.ts'
import type { WebEnv } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { type Dashboard, dashboardWeb } from './dashboard.ts'
import type { Platform } from './platform.ts'

/** The web face: the public API and, behind it, the dashboard. One line a room. */
export function webApp(platform: Platform, dashboard: Dashboard) {
  const app = new Hono<WebEnv>()
  const { owner } = platform.guards
  app.use(platform.csrf.check)
  app.use(refuseWritesOnFullDisk(platform))
  app.route('/', probes(platform))
  app.route('/', healthWeb(platform))
  app.route('/', accountsWeb(platform))
  app.route('/', signInWeb(platform))
  app.route('/', settingsWeb(platform))
  app.route('/', personalDataWeb(platform))
  app.route('/', passwordWeb(platform))
  app.route('/', sessionsWeb(platform))
  app.route('/', twoFactorWeb(platform))
  app.route('/', administrationWeb(platform))
  app.route('/', securityEventsWeb(platform))
  app.route('/', socialIdentityWeb(platform))
  app.route('/', keysWeb(platform))
  app.route('/', installationsWeb(platform))
  // Before agents, where `clone` would be the id of one.
  app.route('/', cloningWeb(platform))
  // Before deployments, whose routes lie below it and share its rate.
  app.route('/', agentsWeb(platform))
  app.route('/', agentConfigRoutes(platform, owner))
  app.route('/', agentMessagesRoutes(platform, owner))
  app.route('/', agentStatsRoutes(platform, owner))
  app.route('/', verificationWeb(platform))
  app.route('/', provisioningWeb(platform))
  app.route('/', deploymentsWeb(platform))
  app.route('/', lifecycleWeb(platform))
  app.route('/', instancesWeb(platform))
  app.route('/', watchdogWeb(platform))
  app.route('/', notificationsWeb(platform))
  app.route('/', chatWeb(platform))
  app.route('/', logsWeb(platform))
  app.route('/', metricsWeb(platform))
  app.route('/', agentTalkWeb(platform))
  app.route('/', memoryWeb(platform))
  app.route('/', inboxWeb(platform))
  app.route('/', webhooksWeb(platform))
  app.route('/', radioWeb(platform))
  app.route('/', videoWeb(platform))
  app.route('/', aiWeb(platform))
  app.route('/', demoWeb(platform))
  app.route('/', billingWeb(platform))
  app.route('/', ledgerWeb(platform))
  app.route('/', walletsWeb(platform))
  app.route('/', paymentsWeb(platform))
  app.route('/', usageWeb(platform))
  app.route('/', browseWeb(platform))
  app.route('/', swarmsWeb(platform))
  app.route('/', missionControlWeb(platform))
  app.route('/', colonyWeb(platform))
  app.route('/', scheduledTasksWeb(platform))
  app.route('/', heartbeatWeb(platform))
  app.route('/', feedsWeb(platform))
  app.all('/api/*', notFound)
  app.route('/', dashboardWeb(dashboard))
  return app
}
