import { Hono } from 'hono'
import { passwordWeb } from '../features/accounts/password-web.ts'
import { personalDataWeb } from '../features/accounts/personal-data-web.ts'
import { sessionsWeb } from '../features/accounts/sessions-web.ts'
import { settingsWeb } from '../features/accounts/settings-web.ts'
import { twoFactorWeb } from '../features/accounts/two-factor-web.ts'
import { accountsWeb } from '../features/accounts/web.ts'
import { administrationWeb } from '../features/administration/web.ts'
import { agentTalkWeb } from '../features/agent-talk/web.ts'
import { agentConfigRoutes } from '../features/agents/config-routes.ts'
import { agentsWeb } from '../features/agents/web.ts'
import { aiWeb } from '../features/ai/web.ts'
import { billingWeb } from '../features/billing/web.ts'
import { browseWeb } from '../features/browse/web.ts'
import { agentMessagesRoutes } from '../features/chat/agent-messages-routes.ts'
import { chatWeb } from '../features/chat/web.ts'
import { cloningWeb } from '../features/cloning/web.ts'
import { colonyWeb } from '../features/colony/web.ts'
import { demoWeb } from '../features/demo/web.ts'
import { lifecycleWeb } from '../features/deployments/lifecycle-web.ts'
import { deploymentsWeb } from '../features/deployments/web.ts'
import { feedsWeb } from '../features/feeds/web.ts'
import { probes } from '../features/health/probes.ts'
import { healthWeb } from '../features/health/web.ts'
import { heartbeatWeb } from '../features/heartbeat/web.ts'
import { inboxWeb } from '../features/inbox/web.ts'
import { installationsWeb } from '../features/installations/web.ts'
import { instancesWeb } from '../features/instances/web.ts'
import { keysWeb } from '../features/keys/web.ts'
import { logsWeb } from '../features/logs/web.ts'
import { memoryWeb } from '../features/memory/web.ts'
import { agentStatsRoutes } from '../features/metrics/agent-stats-routes.ts'
import { metricsWeb } from '../features/metrics/web.ts'
import { missionControlWeb } from '../features/mission-control/web.ts'
import { notificationsWeb } from '../features/notifications/web.ts'
import { provisioningWeb } from '../features/provisioning/web.ts'
import { radioWeb } from '../features/radio/web.ts'
import { scheduledTasksWeb } from '../features/scheduled-tasks/web.ts'
import { securityEventsWeb } from '../features/security-events/web.ts'
import { signInWeb } from '../features/sign-in/web.ts'
import { socialIdentityWeb } from '../features/social-identity/web.ts'
import { refuseWritesOnFullDisk } from '../features/storage/disk-guard.ts'
import { swarmsWeb } from '../features/swarms/web.ts'
import { usageWeb } from '../features/usage/web.ts'
import { verificationWeb } from '../features/verification/web.ts'
import { videoWeb } from '../features/video/web.ts'
import { watchdogWeb } from '../features/watchdog/web.ts'
import { webhooksWeb } from '../features/webhooks/web.ts'
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
