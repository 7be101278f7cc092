import { Hono, type MiddlewareHandler } from 'hono'
import { NoBody } from '../../core/action.ts'
import type { BackendEnv } from '../../http/env.ts'
import { validateAnyBody } from '../../http/validate.ts'
import { openTokens } from '../agents/create.ts'
import { getAgent } from '../agents/list.ts'
import { toBackendStatus } from '../agents/status.ts'
import { listDeployments } from './history.ts'
import {
  type LifecycleDeps,
  repairUserAgent,
  resetAgentMemory,
  restartAgent,
  startAgent,
  stopAgent,
  updateUserAgent,
} from './lifecycle.ts'
import { rotateToken } from './rotate-token.ts'
import { UpdateImageRequest } from './schemas.ts'
import { findAgentStats, type StatsDeps } from './stats.ts'

export type LifecycleBackendDeps = LifecycleDeps & StatsDeps & { internalKey: MiddlewareHandler<BackendEnv> }

/** What can be done to an agent and asked about it, behind the internal key (Spec 4.4; rulings, 19). */
export function lifecycleBackend(deps: LifecycleBackendDeps) {
  const app = new Hono<BackendEnv>()
  const { internalKey } = deps

  app.post('/api/agents/:id/start', internalKey, validateAnyBody(NoBody), async (c) => {
    const agent = await startAgent(deps, c.var.principal, c.req.param('id'))
    return c.json({ success: true, status: toBackendStatus(agent.status) })
  })

  app.post('/api/agents/:id/stop', internalKey, validateAnyBody(NoBody), async (c) => {
    const agent = await stopAgent(deps, c.var.principal, c.req.param('id'))
    return c.json({ success: true, status: toBackendStatus(agent.status) })
  })

  app.post('/api/agents/:id/restart', internalKey, validateAnyBody(NoBody), async (c) => {
    const agent = await restartAgent(deps, c.var.principal, c.req.param('id'))
    // Clients read these two: no model of ours has ever been retired, so there is nothing to heal.
    const healing = { healedLegacyModel: false, healMessage: 'skip:no-legacy' }
    return c.json({
      success: true,
      status: toBackendStatus(agent.status),
      ...healing,
      runtimeVersion: agent.runtimeVersion,
    })
  })

  app.post('/api/agents/:id/update', internalKey, validateAnyBody(UpdateImageRequest), async (c) => {
    const { image } = c.req.valid('json')
    const { agent, ...outcome } = await updateUserAgent(deps, c.var.principal, c.req.param('id'), image)
    const status = toBackendStatus(agent.status)
    return c.json({ success: true, status, ...outcome, runtimeVersion: agent.runtimeVersion })
  })

  app.post('/api/agents/:id/repair', internalKey, validateAnyBody(NoBody), async (c) => {
    await repairUserAgent(deps, c.var.principal, c.req.param('id'))
    return c.json({ success: true, message: 'Agent repaired successfully' })
  })

  app.post('/api/agents/:id/reset-memory', internalKey, validateAnyBody(NoBody), async (c) => {
    await resetAgentMemory(deps, c.var.principal, c.req.param('id'))
    return c.json({ success: true, message: 'Memory reset successfully' })
  })

  app.get('/api/agents/:id/deployments', internalKey, (c) => {
    const deployments = listDeployments(deps.db, c.var.principal, c.req.param('id'))
    return c.json({ deployments, count: deployments.length })
  })

  app.get('/api/agents/:id/stats', internalKey, async (c) => {
    const agent = getAgent(deps.db, c.var.principal, c.req.param('id'))
    return c.json({ stats: await findAgentStats(deps, agent), status: 'ok' })
  })

  app.get('/api/agents/:id/token', internalKey, (c) => {
    const agent = getAgent(deps.db, c.var.principal, c.req.param('id'))
    return c.json({ token: openTokens(deps.sealer, agent).gatewayToken })
  })

  app.post('/api/agents/:id/token/rotate', internalKey, validateAnyBody(NoBody), async (c) => {
    const agent = await rotateToken(deps, c.var.principal, c.req.param('id'), 'gateway')
    const token = openTokens(deps.sealer, agent).gatewayToken
    return c.json({ success: true, status: toBackendStatus(agent.status), token })
  })

  // Nobody but the agent needs its new token.
  app.post('/api/agents/:id/platform-token/rotate', internalKey, validateAnyBody(NoBody), async (c) => {
    const agent = await rotateToken(deps, c.var.principal, c.req.param('id'), 'platform')
    return c.json({ success: true, status: toBackendStatus(agent.status) })
  })

  return app
}
