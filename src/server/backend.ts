import type { Hono } from 'hono'
import { invitesBackend } from '../features/accounts/invites/routes.ts'
import { keysBackend } from '../features/accounts/keys/backend.ts'
import { clusterBackend } from '../features/admin/cluster/routes.ts'
import { lifecycleBackend } from '../features/agents/deployments/lifecycle-routes.ts'
import { deploymentsBackend } from '../features/agents/deployments/routes.ts'
import { installationsBackend, machinesBackend } from '../features/agents/installations/routes.ts'
import { logRoutes } from '../features/agents/logs/routes.ts'
import { agentConfigRoutes, agentsBackend } from '../features/agents/management/backend.ts'
import { provisioningBackend } from '../features/agents/provisioning/routes.ts'
import { revisionRoutes } from '../features/agents/revisions/routes.ts'
import { refuseWritesOnFullDisk } from '../features/agents/storage/disk.ts'
import { verificationRoutes } from '../features/agents/verification/routes.ts'
import { watchdogRoutes } from '../features/agents/watchdog/routes.ts'
import { limitsBackend } from '../features/ai/gateway/agent-limits.ts'
import { aiBackend } from '../features/ai/gateway/backend.ts'
import { messagesBackend } from '../features/ai/gateway/dialects/messages-backend.ts'
import { openAiBackend } from '../features/ai/gateway/openai-backend.ts'
import { responsesBackend } from '../features/ai/responses/backend.ts'
import { usageBackend } from '../features/ai/usage/backend.ts'
import { agentMessagesBackend } from '../features/conversations/agent-messages/routes.ts'
import { agentToolsBackend } from '../features/conversations/agent-tools/routes.ts'
import { requireToolOn, restoreTools, runsCommands } from '../features/conversations/agent-tools/settings.ts'
import { approvalsBackend } from '../features/conversations/approvals/routes.ts'
import { channelReportsBackend } from '../features/conversations/chat/channels/routes.ts'
import { agentMessagesRoutes } from '../features/conversations/chat/routes.ts'
import { mcpServersBackend } from '../features/conversations/mcp-servers/routes.ts'
import { memoryBackend } from '../features/conversations/memory/routes.ts'
import { scheduledTasksBackend } from '../features/conversations/scheduled-tasks/routes.ts'
import { healthBackend, probes } from '../features/monitoring/health/routes.ts'
import { infraMcpBackend } from '../features/monitoring/infra-mcp/routes.ts'
import { agentStatsRoutes, metricsBackend } from '../features/monitoring/metrics/routes.ts'
import { missionControlBackend } from '../features/monitoring/mission-control/routes.ts'
import { metricsExposition } from '../features/monitoring/prometheus/routes.ts'
import { runtimeBackend } from '../features/monitoring/runtime/routes.ts'
import { billingBackend } from '../features/payments/billing/routes.ts'
import { paidCallsBackend } from '../features/payments/paid-calls/routes.ts'
import { skillsBackend } from '../features/payments/skills/routes.ts'
import { agentWalletsBackend, splitsRoutes } from '../features/payments/splits/routes.ts'
import { busBackend, undergroundRoutes } from '../features/payments/underground/routes.ts'
import { agentWebBackend } from '../features/web-tools/agent-web/backend.ts'
import { browseBackend } from '../features/web-tools/browse/routes.ts'
import type { BaseEnv } from '../http/env.ts'
import { isWrongBearer, refuseWrongKeyAsUnauthorized } from '../http/internal-key.ts'
import { limitRate, limitWrongCredentials } from '../http/rate-limit.ts'
import { type ApiDocuments, apiDocumentRoutes } from './api-document/served.ts'
import type { Platform } from './platform.ts'

const WRONG_BEARERS_PER_MINUTE = 60

/** Mounts the backend API, which services and agents call: one line per feature. */
export function mountBackend(root: Hono<BaseEnv>, platform: Platform, documents: ApiDocuments) {
  const app = root.basePath('/backend')
  const { accounts, agents, ai, payments, conversations, webTools, monitoring, admin } = platform
  const { internalKey, requestsPerMinute } = accounts
  const { checkModel, modelChoice: catalogue } = ai
  app.use(
    '/api/*',
    limitRate(() => requestsPerMinute.backend, 'Too many requests, please slow down.'),
  )
  app.use('/v1/*', limitWrongCredentials(WRONG_BEARERS_PER_MINUTE, isWrongBearer))
  app.use(refuseWritesOnFullDisk(agents))
  app.route('/', probes(monitoring))
  app.route('/', apiDocumentRoutes(documents, 'backend'))
  app.route('/', healthBackend(monitoring))
  app.route('/', metricsExposition(monitoring))
  app.route('/', keysBackend(accounts))
  app.route('/', installationsBackend(agents))
  app.route('/', machinesBackend(agents))
  app.route('/', invitesBackend(accounts))
  app.route('/', infraMcpBackend(monitoring))
  app.route('/', clusterBackend(admin, internalKey))
  app.route('/', deploymentsBackend({ ...agents, checkModel }))
  app.route('/', lifecycleBackend(agents))
  app.route('/', agentsBackend({ ...agents, checkModel }))
  app.route('/', logRoutes(agents, internalKey))
  app.route('/', metricsBackend(monitoring))
  app.route('/', runtimeBackend(monitoring))
  app.route('/', agentConfigRoutes({ ...agents, checkModel }, internalKey))
  app.route('/', agentMessagesRoutes(conversations, internalKey))
  app.route('/', agentStatsRoutes(monitoring, internalKey))
  app.route('/', verificationRoutes(agents, internalKey))
  app.route('/', provisioningBackend({ ...agents, catalogue, checkModel }))
  app.route('/', watchdogRoutes(agents, internalKey))
  app.route('/', revisionRoutes({ ...agents, checkModel, restoreTools }, internalKey))
  app.route('/', usageBackend(ai))
  app.route('/', billingBackend(payments))
  app.route('/', missionControlBackend(monitoring))
  app.route('/', skillsBackend(payments))
  app.route('/', paidCallsBackend(payments))
  app.route('/', busBackend(payments))
  const underground = refuseWrongKeyAsUnauthorized(internalKey)
  app.route('/', undergroundRoutes(payments, underground))
  app.route('/', agentWalletsBackend(payments, underground))
  app.route('/', splitsRoutes(payments, underground))
  app.route('/', browseBackend(webTools))
  app.route('/', aiBackend(ai))
  app.route('/', limitsBackend(ai))
  app.route('/', openAiBackend(ai))
  app.route('/', responsesBackend(ai))
  app.route('/', messagesBackend(ai))
  app.route('/', memoryBackend(conversations))
  app.route(
    '/',
    approvalsBackend({
      ...conversations,
      requireToolOn,
      runsCommands: (agent) => runsCommands(conversations.db, agent),
    }),
  )
  app.route('/', agentToolsBackend(conversations))
  app.route('/', channelReportsBackend(conversations))
  app.route('/', agentMessagesBackend(conversations))
  app.route('/', mcpServersBackend(conversations))
  app.route('/', scheduledTasksBackend(conversations))
  app.route('/', agentWebBackend(webTools))
}
