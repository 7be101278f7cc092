import { Hono } from 'hono'
import { agentsBackend } from '../features/agents/backend.ts'
import { aiBackend } from '../features/ai/backend.ts'
import { openAiBackend } from '../features/ai/openai-backend.ts'
import { deploymentsBackend } from '../features/deployments/backend.ts'
import { healthBackend } from '../features/health/backend.ts'
import { invitesBackend } from '../features/invites/backend.ts'
import { keysBackend } from '../features/keys/backend.ts'
import type { BackendEnv } from '../http/env.ts'
import { limitRate } from '../http/rate-limit.ts'
import type { Platform } from './platform.ts'

/** The backend face: what services and agents call. One line a room. */
export function backendApp(platform: Platform) {
  const app = new Hono<BackendEnv>()
  app.use('/api/*', limitRate(platform.requestsPerMinute.backend, 'Too many requests, please slow down.'))
  app.route('/', healthBackend(platform))
  app.route('/', keysBackend(platform))
  app.route('/', invitesBackend(platform))
  app.route('/', deploymentsBackend(platform))
  app.route('/', agentsBackend(platform))
  app.route('/', aiBackend(platform))
  app.route('/', openAiBackend(platform))
  return app
}
