import type { Hono } from 'hono'
import { agentsBackend } from '../features/agents/agents/backend.ts'
import { agentConfigRoutes } from '../features/agents/agents/config-routes.ts'
import { deploymentsBackend } from '../features/agents/deployments/backend.ts'
import { lifecycleBackend } from '../features/agents/deployments/lifecycle-routes.ts'
import { installationsBackend } from '../features/agents/installations/backend.ts'
import { logRoutes } from '../features/agents/logs/routes.ts'
import { provisioningBackend } from '../features/agents/provisioning/backend.ts'
import { refuseWritesOnFullDisk } from '../features/agents/storage/disk-guard.ts'
import { verificationRoutes } from '../features/agents/verification/routes.ts'
import { watchdogRoutes } from '../features/agents/watchdog/routes.ts'
import { aiBackend } from '../features/models/gateway/backend.ts'
import { openAiBackend } from '../features/models/gateway/openai-backend.ts'
import { usageBackend } from '../features/models/usage/backend.ts'
import { billingBackend } from '../features/money/billing/backend.ts'
import { paidCallsBackend } from '../features/money/paid-calls/backend.ts'
import { skillsBackend } from '../features/money/skills/backend.ts'
import { agentWalletsBackend, splitsRoutes } from '../features/money/splits/routes.ts'
import { busBackend } from '../features/money/underground/backend.ts'
import { undergroundRoutes } from '../features/money/underground/routes.ts'
import { invitesBackend } from '../features/people/invites/backend.ts'
import { keysBackend } from '../features/people/keys/backend.ts'
import { agentTalkBackend } from '../features/talk/agent-talk/backend.ts'
import { agentToolsBackend } from '../features/talk/agent-tools/backend.ts'
import { requireToolOn, runsCommands } from '../features/talk/agent-tools/settings.ts'
import { approvalsBackend } from '../features/talk/approvals/backend.ts'
import { agentMessagesRoutes } from '../features/talk/chat/agent-messages-routes.ts'
import { channelReportsBackend } from '../features/talk/chat/channels/backend.ts'
import { mcpServersBackend } from '../features/talk/mcp-servers/backend.ts'
import { memoryBackend } from '../features/talk/memory/backend.ts'
import { scheduledTasksBackend } from '../features/talk/scheduled-tasks/backend.ts'
import { healthBackend } from '../features/views/health/backend.ts'
import { probes } from '../features/views/health/probes.ts'
import { infraMcpBackend } from '../features/views/infra-mcp/backend.ts'
import { agentStatsRoutes } from '../features/views/metrics/agent-stats-routes.ts'
import { metricsBackend } from '../features/views/metrics/backend.ts'
import { missionControlBackend } from '../features/views/mission-control/backend.ts'
import { runtimeBackend } from '../features/views/runtime/backend.ts'
import { watchingBackend } from '../features/views/watching/backend.ts'
import { agentWebBackend } from '../features/web-tools/agent-web/backend.ts'
import { browseBackend } from '../features/web-tools/browse/backend.ts'
import type { BaseEnv } from '../http/env.ts'
import { isWrongBearer, refuseWrongKeyAsUnauthorized } from '../http/internal-key.ts'
import { limitRate, limitWrongCredentials } from '../http/rate-limit.ts'
import { type ApiDocuments, apiDocumentRoutes } from './api-document/served.ts'
import type { Platform } from './platform.ts'

const WRONG_BEARERS_PER_MINUTE = 60

/** The backend face: what services and agents call. One line a room. */
export function mountBackend(root: Hono<BaseEnv>, platform: Platform, documents: ApiDocuments) {
  const app = root.basePath('/backend')
  const { people, agents, models, money, talk, webTools, views } = platform
  const { internalKey, requestsPerMinute } = people
  const { checkModel, modelChoice: catalogue } = models
  app.use(
    '/api/*',
    limitRate(() => requestsPerMinute.backend, 'Too many requests, please slow down.'),
  )
  app.use('/v1/*', limitWrongCredentials(WRONG_BEARERS_PER_MINUTE, isWrongBearer))
  app.use(refuseWritesOnFullDisk(agents))
  app.route('/', probes(views))
  app.route('/', apiDocumentRoutes(documents, 'backend'))
  app.route('/', healthBackend(views))
  app.route('/', watchingBackend(views))
  app.route('/', keysBackend(people))
  app.route('/', installationsBackend(agents))
  app.route('/', invitesBackend(people))
  app.route('/', infraMcpBackend(views))
  app.route('/', deploymentsBackend({ ...agents, checkModel }))
  app.route('/', lifecycleBackend(agents))
  app.route('/', agentsBackend({ ...agents, checkModel }))
  app.route('/', logRoutes(agents, internalKey))
  app.route('/', metricsBackend(views))
  app.route('/', runtimeBackend(views))
  app.route('/', agentConfigRoutes({ ...agents, checkModel }, internalKey))
  app.route('/', agentMessagesRoutes(talk, internalKey))
  app.route('/', agentStatsRoutes(views, internalKey))
  app.route('/', verificationRoutes(agents, internalKey))
  app.route('/', provisioningBackend({ ...agents, catalogue, checkModel }))
  app.route('/', watchdogRoutes(agents, internalKey))
  app.route('/', usageBackend(models))
  app.route('/', billingBackend(money))
  app.route('/', missionControlBackend(views))
  app.route('/', skillsBackend(money))
  app.route('/', paidCallsBackend(money))
  app.route('/', busBackend(money))
  const underground = refuseWrongKeyAsUnauthorized(internalKey)
  app.route('/', undergroundRoutes(money, underground))
  app.route('/', agentWalletsBackend(money, underground))
  app.route('/', splitsRoutes(money, underground))
  app.route('/', browseBackend(webTools))
  app.route('/', aiBackend(models))
  app.route('/', openAiBackend(models))
  app.route('/', memoryBackend(talk))
  app.route('/', approvalsBackend({ ...talk, requireToolOn, runsCommands: (agent) => runsCommands(talk.db, agent) }))
  app.route('/', agentToolsBackend(talk))
  app.route('/', channelReportsBackend(talk))
  app.route('/', agentTalkBackend(talk))
  app.route('/', mcpServersBackend(talk))
  app.route('/', scheduledTasksBackend(talk))
  app.route('/', agentWebBackend(webTools))
}
