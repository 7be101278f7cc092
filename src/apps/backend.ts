import { Hono } from 'hono'
import { agentsBackend } from '../features/agents/agents/backend.ts'
import { agentConfigRoutes } from '../features/agents/agents/config-routes.ts'
import { deploymentsBackend } from '../features/agents/deployments/backend.ts'
import { lifecycleBackend } from '../features/agents/deployments/lifecycle-backend.ts'
import { installationsBackend } from '../features/agents/installations/backend.ts'
import { logsBackend } from '../features/agents/logs/backend.ts'
import { provisioningBackend } from '../features/agents/provisioning/backend.ts'
import { refuseWritesOnFullDisk } from '../features/agents/storage/disk-guard.ts'
import { verificationBackend } from '../features/agents/verification/backend.ts'
import { watchdogBackend } from '../features/agents/watchdog/backend.ts'
import { aiBackend } from '../features/models/gateway/backend.ts'
import { openAiBackend } from '../features/models/gateway/openai-backend.ts'
import { usageBackend } from '../features/models/usage/backend.ts'
import { invitesBackend } from '../features/people/invites/backend.ts'
import { keysBackend } from '../features/people/keys/backend.ts'
import { agentMessagesRoutes } from '../features/talk/chat/agent-messages-routes.ts'
import { memoryBackend } from '../features/talk/memory/backend.ts'
import { healthBackend } from '../features/views/health/backend.ts'
import { probes } from '../features/views/health/probes.ts'
import { infraMcpBackend } from '../features/views/infra-mcp/backend.ts'
import { agentStatsRoutes } from '../features/views/metrics/agent-stats-routes.ts'
import { metricsBackend } from '../features/views/metrics/backend.ts'
import { missionControlBackend } from '../features/views/mission-control/backend.ts'
import { runtimeBackend } from '../features/views/runtime/backend.ts'
import { browseBackend } from '../features/web-tools/browse/backend.ts'
import type { BackendEnv } from '../http/env.ts'
import { limitRate } from '../http/rate-limit.ts'
import type { Platform } from './platform.ts'

/** The backend face: what services and agents call. One line a room. */
export function backendApp(platform: Platform) {
  const app = new Hono<BackendEnv>()
  const { internalKey } = platform
  app.use('/api/*', limitRate(platform.requestsPerMinute.backend, 'Too many requests, please slow down.'))
  app.use(refuseWritesOnFullDisk(platform))
  app.route('/', probes(platform))
  app.route('/', healthBackend(platform))
  app.route('/', keysBackend(platform))
  app.route('/', installationsBackend(platform))
  app.route('/', invitesBackend(platform))
  app.route('/', infraMcpBackend(platform))
  app.route('/', deploymentsBackend(platform))
  app.route('/', lifecycleBackend(platform))
  app.route('/', agentsBackend(platform))
  app.route('/', logsBackend(platform))
  app.route('/', metricsBackend(platform))
  app.route('/', runtimeBackend(platform))
  app.route('/', agentConfigRoutes(platform, internalKey))
  app.route('/', agentMessagesRoutes(platform, internalKey))
  app.route('/', agentStatsRoutes(platform, internalKey))
  app.route('/', verificationBackend(platform))
  app.route('/', provisioningBackend(platform))
  app.route('/', watchdogBackend(platform))
  app.route('/', usageBackend(platform))
  app.route('/', missionControlBackend(platform))
  app.route('/', browseBackend(platform))
  app.route('/', aiBackend(platform))
  app.route('/', openAiBackend(platform))
  app.route('/', memoryBackend(platform))
  return app
}
