import { Hono } from 'hono'
import { agentsBackend } from '../features/agents/backend.ts'
import { agentConfigRoutes } from '../features/agents/config-routes.ts'
import { aiBackend } from '../features/ai/backend.ts'
import { openAiBackend } from '../features/ai/openai-backend.ts'
import { browseBackend } from '../features/browse/backend.ts'
import { agentMessagesRoutes } from '../features/chat/agent-messages-routes.ts'
import { deploymentsBackend } from '../features/deployments/backend.ts'
import { lifecycleBackend } from '../features/deployments/lifecycle-backend.ts'
import { healthBackend } from '../features/health/backend.ts'
import { probes } from '../features/health/probes.ts'
import { infraMcpBackend } from '../features/infra-mcp/backend.ts'
import { installationsBackend } from '../features/installations/backend.ts'
import { invitesBackend } from '../features/invites/backend.ts'
import { keysBackend } from '../features/keys/backend.ts'
import { logsBackend } from '../features/logs/backend.ts'
import { memoryBackend } from '../features/memory/backend.ts'
import { agentStatsRoutes } from '../features/metrics/agent-stats-routes.ts'
import { metricsBackend } from '../features/metrics/backend.ts'
import { missionControlBackend } from '../features/mission-control/backend.ts'
import { provisioningBackend } from '../features/provisioning/backend.ts'
import { runtimeBackend } from '../features/runtime/backend.ts'
import { refuseWritesOnFullDisk } from '../features/storage/disk-guard.ts'
import { usageBackend } from '../features/usage/backend.ts'
import { verificationBackend } from '../features/verification/backend.ts'
import { watchdogBackend } from '../features/watchdog/backend.ts'
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
