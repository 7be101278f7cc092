import type { Hono } from 'hono'
import type { BlankSchema } from 'hono/types'
import { agentConfigRoutes } from '../features/agents/agents/config-routes.ts'
import { agentsWeb } from '../features/agents/agents/web.ts'
import { channelsWeb } from '../features/agents/channels/web.ts'
import { cloningWeb } from '../features/agents/cloning/web.ts'
import { lifecycleWeb } from '../features/agents/deployments/lifecycle-routes.ts'
import { deploymentsWeb } from '../features/agents/deployments/web.ts'
import { installationsWeb } from '../features/agents/installations/web.ts'
import { labelsWeb } from '../features/agents/labels/web.ts'
import { logRoutes } from '../features/agents/logs/routes.ts'
import { provisioningWeb } from '../features/agents/provisioning/web.ts'
import { reachWeb } from '../features/agents/reach/web.ts'
import { refuseWritesOnFullDisk } from '../features/agents/storage/disk-guard.ts'
import { verificationRoutes } from '../features/agents/verification/routes.ts'
import { watchdogRoutes } from '../features/agents/watchdog/routes.ts'
import { administrationWeb } from '../features/house/administration/web.ts'
import { backupsWeb } from '../features/house/backups/web.ts'
import { logsWeb } from '../features/house/logs/web.ts'
import { oversightWeb } from '../features/house/oversight/web.ts'
import { overviewWeb } from '../features/house/overview/web.ts'
import { personalDataWeb } from '../features/house/personal-data/web.ts'
import { servicesWeb } from '../features/house/services/web.ts'
import { updatesWeb } from '../features/house/updates/web.ts'
import { breakersWeb } from '../features/models/breakers/web.ts'
import { demoWeb } from '../features/models/demo/web.ts'
import { aiWeb } from '../features/models/gateway/web.ts'
import { pricesWeb } from '../features/models/prices/web.ts'
import { usageWeb } from '../features/models/usage/web.ts'
import { billingWeb } from '../features/money/billing/web.ts'
import { cardsWeb } from '../features/money/cards/web.ts'
import { ledgerWeb } from '../features/money/ledger/web.ts'
import { paidCallsWeb } from '../features/money/paid-calls/web.ts'
import { paidGatewayWeb } from '../features/money/paid-gateway/web.ts'
import { receiptsWeb } from '../features/money/receipts/web.ts'
import { skillsWeb } from '../features/money/skills/web.ts'
import { splitsRoutes } from '../features/money/splits/routes.ts'
import { undergroundRoutes } from '../features/money/underground/routes.ts'
import { busWeb } from '../features/money/underground/web.ts'
import { paymentsWeb } from '../features/money/wallets/payments-web.ts'
import { walletsWeb } from '../features/money/wallets/web.ts'
import { x402Web } from '../features/money/x402/web.ts'
import { settingsWeb } from '../features/people/accounts/settings-web.ts'
import { accountsWeb } from '../features/people/accounts/web.ts'
import { invitesWeb } from '../features/people/invites/web.ts'
import { keysWeb } from '../features/people/keys/web.ts'
import { noticesWeb } from '../features/people/notices/web.ts'
import { notificationsWeb } from '../features/people/notifications/web.ts'
import { plansWeb } from '../features/people/own-plans/web.ts'
import { passwordWeb } from '../features/people/passwords/web.ts'
import { securityEventsWeb } from '../features/people/security-events/web.ts'
import { sessionsWeb } from '../features/people/sessions/web.ts'
import { setupWeb } from '../features/people/setup/web.ts'
import { signInWeb } from '../features/people/sign-in/web.ts'
import { socialIdentityWeb } from '../features/people/social-identity/web.ts'
import { twoFactorWeb } from '../features/people/two-factor/web.ts'
import { agentTalkWeb } from '../features/talk/agent-talk/web.ts'
import { agentToolsWeb } from '../features/talk/agent-tools/web.ts'
import { approvalsWeb } from '../features/talk/approvals/web.ts'
import { agentMessagesRoutes } from '../features/talk/chat/agent-messages-routes.ts'
import { conversationsWeb } from '../features/talk/chat/channels/web.ts'
import { chatSessionsWeb } from '../features/talk/chat/sessions-web.ts'
import { turnsWeb } from '../features/talk/chat/turns/web.ts'
import { chatWeb } from '../features/talk/chat/web.ts'
import { heartbeatWeb } from '../features/talk/heartbeat/web.ts'
import { inboxWeb } from '../features/talk/inbox/web.ts'
import { mcpServersWeb } from '../features/talk/mcp-servers/web.ts'
import { memoryWeb } from '../features/talk/memory/web.ts'
import { scheduledTasksWeb } from '../features/talk/scheduled-tasks/web.ts'
import { swarmsWeb } from '../features/talk/swarms/web.ts'
import { webhookChannelWeb } from '../features/talk/webhook-channel/web.ts'
import { colonyWeb } from '../features/views/colony/web.ts'
import { fleetWeb } from '../features/views/fleet/web.ts'
import { probes } from '../features/views/health/probes.ts'
import { healthWeb } from '../features/views/health/web.ts'
import { instancesWeb } from '../features/views/instances/web.ts'
import { mcpServerWeb } from '../features/views/mcp-server/web.ts'
import { agentStatsRoutes } from '../features/views/metrics/agent-stats-routes.ts'
import { metricsWeb } from '../features/views/metrics/web.ts'
import { missionControlWeb } from '../features/views/mission-control/web.ts'
import { attachmentsWeb } from '../features/web-tools/attachments/web.ts'
import { browseWeb } from '../features/web-tools/browse/web.ts'
import { feedsWeb } from '../features/web-tools/feeds/web.ts'
import { radioWeb } from '../features/web-tools/radio/web.ts'
import { videoWeb } from '../features/web-tools/video/web.ts'
import { webhooksWeb } from '../features/web-tools/webhooks/web.ts'
import type { BaseEnv } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { type ApiDocuments, apiDocumentRoutes } from './api-document/served.ts'
import { type Dashboard, dashboardWeb } from './dashboard.ts'
import { gatewayPlugins } from './gateway-plugins.ts'
import type { Platform } from './platform.ts'

type WebFace = Hono<BaseEnv, BlankSchema, '/web'>

/** The web face: the public API and, behind it, the dashboard. One line a room. */
export function mountWeb(root: Hono<BaseEnv>, platform: Platform, dashboard: Dashboard, documents: ApiDocuments) {
  const app = root.basePath('/web')
  const { people, agents, models, talk, webTools, views, house } = platform
  const { owner } = people.guards
  const { checkModel, modelChoice: catalogue } = models
  app.use(people.csrf.check)
  app.use(refuseWritesOnFullDisk(agents))
  app.route('/', probes(views))
  app.route('/', apiDocumentRoutes(documents, 'web'))
  app.route('/', healthWeb(views))
  app.route('/', accountsWeb(people))
  app.route('/', setupWeb(people))
  app.route('/', signInWeb(people))
  app.route('/', settingsWeb({ ...people, storage: agents.storage }))
  app.route('/', personalDataWeb(house))
  app.route('/', passwordWeb(people))
  app.route('/', sessionsWeb(people))
  app.route('/', twoFactorWeb(people))
  mountAdmin(app, platform)
  app.route('/', securityEventsWeb(people))
  app.route('/', invitesWeb(people))
  app.route('/', plansWeb(people))
  app.route('/', socialIdentityWeb(people))
  app.route('/', keysWeb(people))
  app.route('/', installationsWeb(agents))
  // Before agents, where `clone` would be the id of one.
  app.route('/', cloningWeb(agents))
  // Before deployments, whose routes lie below it and share its rate.
  app.route('/', agentsWeb({ ...agents, catalogue, checkModel }))
  app.route('/', agentConfigRoutes({ ...agents, checkModel }, owner))
  app.route('/', agentMessagesRoutes(talk, owner))
  app.route('/', agentStatsRoutes(views, owner))
  app.route('/', verificationRoutes(agents, owner))
  app.route('/', provisioningWeb({ ...agents, catalogue, checkModel }))
  app.route('/', deploymentsWeb(agents))
  app.route('/', channelsWeb(agents))
  app.route('/', reachWeb(agents))
  app.route('/', labelsWeb(agents))
  app.route('/', lifecycleWeb(agents))
  app.route('/', instancesWeb(views))
  app.route('/', watchdogRoutes(agents, owner))
  app.route('/', notificationsWeb(people))
  app.route('/', noticesWeb(people))
  app.route('/', chatWeb(talk))
  app.route('/', turnsWeb(talk))
  app.route('/', attachmentsWeb(webTools))
  app.route('/', chatSessionsWeb(talk))
  app.route('/', conversationsWeb(talk))
  app.route('/', approvalsWeb(talk))
  app.route('/', agentToolsWeb(talk, owner))
  app.route('/', mcpServersWeb(talk, owner))
  app.route('/', logRoutes(agents, owner))
  app.route('/', metricsWeb(views))
  app.route('/', fleetWeb(views))
  app.route('/', agentTalkWeb(talk))
  app.route('/', memoryWeb(talk))
  app.route('/', inboxWeb(talk))
  app.route('/', webhookChannelWeb(talk))
  app.route('/', webhooksWeb(webTools))
  app.route('/', radioWeb(webTools))
  app.route('/', videoWeb(webTools))
  app.route('/', aiWeb(models))
  app.route('/', demoWeb(models))
  app.route('/', breakersWeb(models))
  mountMoney(app, platform)
  app.route('/', usageWeb(models))
  app.route('/', browseWeb(webTools))
  app.route('/', swarmsWeb(talk))
  app.route('/', missionControlWeb(views))
  app.route('/', colonyWeb(views))
  app.route('/', scheduledTasksWeb(talk))
  app.route('/', heartbeatWeb(talk))
  app.route('/', feedsWeb(webTools))
  app.route('/', mcpServerWeb(views))
  app.all('/api/*', notFound)
  app.route('/', dashboardWeb(dashboard))
}

/** Mounts administration and the overview. */
function mountAdmin(app: WebFace, { house, models }: Platform): void {
  app.route('/', administrationWeb(house))
  app.route('/', oversightWeb(house))
  app.route('/', logsWeb(house))
  app.route('/', updatesWeb(house))
  app.route('/', servicesWeb(house))
  app.route('/', pricesWeb(models))
  app.route('/', backupsWeb(house))
  app.route('/', overviewWeb(house))
}

/** The rooms of money, a line each as above. */
function mountMoney(app: WebFace, { people, money, talk, webTools }: Platform): void {
  const { owner } = people.guards
  app.route('/', billingWeb(money))
  app.route('/', cardsWeb(money))
  app.route('/', receiptsWeb(money))
  app.route('/', paidGatewayWeb(money, gatewayPlugins({ ...talk, ...webTools })))
  app.route('/', ledgerWeb(money))
  app.route('/', walletsWeb(money))
  app.route('/', paymentsWeb(money))
  app.route('/', paidCallsWeb(money))
  app.route('/', undergroundRoutes(money, owner))
  app.route('/', splitsRoutes(money, owner))
  app.route('/', busWeb(money))
  app.route('/', skillsWeb(money))
  app.route('/', x402Web(money))
}
