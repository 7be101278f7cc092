import type { Hono } from 'hono'
import type { BlankSchema } from 'hono/types'
import { invitesWeb } from '../features/accounts/invites/routes.ts'
import { keysWeb } from '../features/accounts/keys/web.ts'
import { noticesWeb, notificationsWeb } from '../features/accounts/notifications/web.ts'
import { plansWeb } from '../features/accounts/own-plans/web.ts'
import { passwordWeb } from '../features/accounts/passwords/web.ts'
import { accountsWeb, setupWeb } from '../features/accounts/registration/web.ts'
import { securityEventsWeb } from '../features/accounts/security-events/web.ts'
import { sessionsWeb } from '../features/accounts/sessions/web.ts'
import { settingsWeb } from '../features/accounts/settings/web.ts'
import { signInWeb } from '../features/accounts/sign-in/web.ts'
import { socialIdentityWeb } from '../features/accounts/social-identity/web.ts'
import { twoFactorWeb } from '../features/accounts/two-factor/web.ts'
import { administrationWeb } from '../features/admin/accounts/web.ts'
import { backupsWeb } from '../features/admin/backups/web.ts'
import { clusterWeb } from '../features/admin/cluster/routes.ts'
import { logsWeb } from '../features/admin/logs/web.ts'
import { oversightWeb } from '../features/admin/oversight/routes.ts'
import { overviewWeb } from '../features/admin/overview/routes.ts'
import { personalDataWeb } from '../features/admin/personal-data/web.ts'
import { servicesWeb } from '../features/admin/services/web.ts'
import { updatesWeb } from '../features/admin/updates/web.ts'
import { channelsWeb } from '../features/agents/channels/web.ts'
import { cloningWeb } from '../features/agents/cloning/web.ts'
import { lifecycleWeb } from '../features/agents/deployments/lifecycle-routes.ts'
import { deploymentsWeb } from '../features/agents/deployments/routes.ts'
import { egressWeb } from '../features/agents/egress/routes.ts'
import { installationsWeb } from '../features/agents/installations/routes.ts'
import { logRoutes } from '../features/agents/logs/routes.ts'
import { agentConfigRoutes } from '../features/agents/management/backend.ts'
import { agentsWeb, labelsWeb } from '../features/agents/management/web.ts'
import { provisioningWeb } from '../features/agents/provisioning/routes.ts'
import { agentProxyRoutes } from '../features/agents/proxy/ingress.ts'
import { revisionRoutes } from '../features/agents/revisions/routes.ts'
import { refuseWritesOnFullDisk } from '../features/agents/storage/disk.ts'
import { verificationRoutes } from '../features/agents/verification/routes.ts'
import { watchdogRoutes } from '../features/agents/watchdog/routes.ts'
import { limitsWeb } from '../features/ai/breakers/limits-routes.ts'
import { breakersWeb } from '../features/ai/breakers/web.ts'
import { demoWeb } from '../features/ai/demo/web.ts'
import { aiWeb } from '../features/ai/gateway/web.ts'
import { pricesWeb } from '../features/ai/prices/web.ts'
import { requestsWeb } from '../features/ai/requests/web.ts'
import { usageWeb } from '../features/ai/usage/web.ts'
import { agentApiWeb } from '../features/conversations/agent-messages/routes.ts'
import { agentTestsWeb } from '../features/conversations/agent-tests/routes.ts'
import { agentToolsWeb } from '../features/conversations/agent-tools/routes.ts'
import { restoreTools } from '../features/conversations/agent-tools/settings.ts'
import { approvalsWeb } from '../features/conversations/approvals/routes.ts'
import { conversationsWeb } from '../features/conversations/chat/channels/routes.ts'
import { agentMessagesRoutes, chatSessionsWeb, chatWeb } from '../features/conversations/chat/routes.ts'
import { turnsWeb } from '../features/conversations/chat/turns/web.ts'
import { heartbeatWeb } from '../features/conversations/heartbeat/web.ts'
import { inboxWeb } from '../features/conversations/inbox/web.ts'
import { leashWeb } from '../features/conversations/leash/routes.ts'
import { mcpAuthorizationsWeb } from '../features/conversations/mcp-servers/authorization-routes.ts'
import { mcpServersWeb } from '../features/conversations/mcp-servers/routes.ts'
import { memoryWeb } from '../features/conversations/memory/routes.ts'
import { scheduledTasksWeb } from '../features/conversations/scheduled-tasks/routes.ts'
import { swarmsWeb } from '../features/conversations/swarms/web.ts'
import { webhookChannelWeb } from '../features/conversations/webhook-channel/web.ts'
import { colonyWeb } from '../features/monitoring/colony/routes.ts'
import { costsWeb } from '../features/monitoring/costs/routes.ts'
import { fleetWeb } from '../features/monitoring/fleet/routes.ts'
import { healthWeb, probes } from '../features/monitoring/health/routes.ts'
import { instancesWeb } from '../features/monitoring/instances/routes.ts'
import { mcpServerWeb } from '../features/monitoring/mcp-server/routes.ts'
import { agentStatsRoutes, metricsWeb } from '../features/monitoring/metrics/routes.ts'
import { missionControlWeb } from '../features/monitoring/mission-control/routes.ts'
import { billingWeb } from '../features/payments/billing/routes.ts'
import { cardsWeb } from '../features/payments/cards/routes.ts'
import { ledgerWeb } from '../features/payments/ledger/routes.ts'
import { paidCallsWeb } from '../features/payments/paid-calls/routes.ts'
import { paidGatewayWeb } from '../features/payments/paid-gateway/routes.ts'
import { receiptsWeb } from '../features/payments/receipts/routes.ts'
import { skillsWeb } from '../features/payments/skills/routes.ts'
import { splitsRoutes } from '../features/payments/splits/routes.ts'
import { busWeb, undergroundRoutes } from '../features/payments/underground/routes.ts'
import { paymentsWeb, walletsWeb } from '../features/payments/wallets/routes.ts'
import { x402Web } from '../features/payments/x402/routes.ts'
import { attachmentsWeb } from '../features/web-tools/attachments/web.ts'
import { browseWeb } from '../features/web-tools/browse/routes.ts'
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

type WebApi = Hono<BaseEnv, BlankSchema, '/web'>

/** Mounts the web API and, after it, the dashboard: one line per feature. */
export function mountWeb(root: Hono<BaseEnv>, platform: Platform, dashboard: Dashboard, documents: ApiDocuments) {
  const app = root.basePath('/web')
  const { accounts, agents, ai, conversations, webTools, monitoring, admin } = platform
  const { owner } = accounts.guards
  const { checkModel, modelChoice: catalogue } = ai
  app.use(accounts.csrf.check)
  app.use(refuseWritesOnFullDisk(agents))
  app.route('/', probes(monitoring))
  app.route('/', apiDocumentRoutes(documents, 'web'))
  app.route('/', healthWeb(monitoring))
  app.route('/', accountsWeb(accounts))
  app.route('/', setupWeb(accounts))
  app.route('/', signInWeb(accounts))
  app.route('/', settingsWeb({ ...accounts, storage: agents.storage }))
  app.route('/', personalDataWeb(admin))
  app.route('/', passwordWeb(accounts))
  app.route('/', sessionsWeb(accounts))
  app.route('/', twoFactorWeb(accounts))
  mountAdmin(app, platform)
  app.route('/', securityEventsWeb(accounts))
  app.route('/', invitesWeb(accounts))
  app.route('/', plansWeb(accounts))
  app.route('/', socialIdentityWeb(accounts))
  app.route('/', keysWeb(accounts))
  app.route('/', installationsWeb(agents))
  // Mounted before agents, where `clone` would be an agent's id.
  app.route('/', cloningWeb(agents))
  // Before deployments, whose routes lie below it and share its rate.
  app.route('/', agentsWeb({ ...agents, catalogue, checkModel }))
  app.route('/', agentConfigRoutes({ ...agents, checkModel }, owner))
  app.route('/', agentMessagesRoutes(conversations, owner))
  app.route('/', agentStatsRoutes(monitoring, owner))
  app.route('/', verificationRoutes(agents, owner))
  app.route('/', provisioningWeb({ ...agents, catalogue, checkModel }))
  app.route('/', deploymentsWeb(agents))
  app.route('/', channelsWeb(agents))
  app.route('/', agentProxyRoutes(agents))
  app.route('/', labelsWeb(agents))
  app.route('/', egressWeb(agents))
  app.route('/', lifecycleWeb(agents))
  mountSupervision(app, platform)
  app.route('/', notificationsWeb(accounts))
  app.route('/', noticesWeb(accounts))
  app.route('/', chatWeb(conversations))
  app.route('/', turnsWeb(conversations))
  app.route('/', attachmentsWeb(webTools))
  app.route('/', chatSessionsWeb(conversations))
  app.route('/', conversationsWeb(conversations))
  app.route('/', approvalsWeb(conversations))
  mountTools(app, platform)
  app.route('/', logRoutes(agents, owner))
  app.route('/', metricsWeb(monitoring))
  app.route('/', fleetWeb(monitoring))
  app.route('/', costsWeb(monitoring))
  app.route('/', agentApiWeb(conversations))
  app.route('/', memoryWeb(conversations))
  app.route('/', inboxWeb(conversations))
  app.route('/', webhookChannelWeb(conversations))
  app.route('/', webhooksWeb(webTools))
  app.route('/', radioWeb(webTools))
  app.route('/', videoWeb(webTools))
  app.route('/', aiWeb(ai))
  app.route('/', demoWeb(ai))
  app.route('/', breakersWeb(ai))
  mountMoney(app, platform)
  app.route('/', usageWeb(ai))
  app.route('/', requestsWeb(ai))
  app.route('/', browseWeb(webTools))
  app.route('/', swarmsWeb(conversations))
  app.route('/', missionControlWeb(monitoring))
  app.route('/', colonyWeb(monitoring))
  app.route('/', scheduledTasksWeb(conversations))
  app.route('/', heartbeatWeb(conversations))
  app.route('/', feedsWeb(webTools))
  app.route('/', mcpServerWeb(monitoring))
  app.all('/api/*', notFound)
  app.route('/', dashboardWeb(dashboard))
}

/** Mounts the tools of agents and related routes. */
function mountTools(app: WebApi, { accounts, conversations }: Platform): void {
  const { owner } = accounts.guards
  app.route('/', agentToolsWeb(conversations, owner))
  app.route('/', agentTestsWeb(conversations))
  app.route('/', mcpServersWeb(conversations, owner))
  app.route('/', mcpAuthorizationsWeb(conversations))
}

/** Mounts monitoring of agents and their limits. */
function mountSupervision(app: WebApi, { accounts, agents, ai, conversations, monitoring }: Platform): void {
  const { owner } = accounts.guards
  app.route('/', instancesWeb(monitoring))
  app.route('/', watchdogRoutes(agents, owner))
  app.route('/', revisionRoutes({ ...agents, checkModel: ai.checkModel, restoreTools }, owner))
  app.route('/', limitsWeb(ai, owner))
  app.route('/', leashWeb({ ...conversations, agentSums: ai.agentSums }, owner))
}

/** Mounts administration and the overview. */
function mountAdmin(app: WebApi, { admin, ai }: Platform): void {
  app.route('/', administrationWeb(admin))
  app.route('/', oversightWeb(admin))
  app.route('/', logsWeb(admin))
  app.route('/', updatesWeb(admin))
  app.route('/', clusterWeb(admin))
  app.route('/', servicesWeb(admin))
  app.route('/', pricesWeb(ai))
  app.route('/', backupsWeb(admin))
  app.route('/', overviewWeb(admin))
}

/** Payment features, one line each. */
function mountMoney(app: WebApi, { accounts, payments, conversations, webTools }: Platform): void {
  const { owner } = accounts.guards
  app.route('/', billingWeb(payments))
  app.route('/', cardsWeb(payments))
  app.route('/', receiptsWeb(payments))
  app.route('/', paidGatewayWeb(payments, gatewayPlugins({ ...conversations, ...webTools })))
  app.route('/', ledgerWeb(payments))
  app.route('/', walletsWeb(payments))
  app.route('/', paymentsWeb(payments))
  app.route('/', paidCallsWeb(payments))
  app.route('/', undergroundRoutes(payments, owner))
  app.route('/', splitsRoutes(payments, owner))
  app.route('/', busWeb(payments))
  app.route('/', skillsWeb(payments))
  app.route('/', x402Web(payments))
}
