import { Hono, type MiddlewareHandler } from 'hono'
import { answers } from '../../../http/answers.ts'
import type { BackendEnv } from '../../../http/env.ts'
import type { InternalKeyGuard } from '../../../http/internal-key.ts'
import { routeTraits } from '../../../http/route-traits.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { NoBody, validateAnyBody } from '../../../http/validate.ts'
import { getAgent, openTokens } from '../registry/agents.ts'
import { toBackendStatus } from '../registry/status.ts'
import type { AgentRow } from '../registry/tables.ts'
import { listSnapshots } from '../snapshots/snapshots.ts'
import { type DeleteDeps, deleteAgent } from './delete.ts'
import {
  type LifecycleDeps,
  listDeployments,
  repairUserAgent,
  resetAgentMemory,
  restartAgent,
  restoreSnapshot,
  startAgent,
  stopAgent,
  updateUserAgent,
} from './lifecycle.ts'
import { rotateToken } from './rotate-token.ts'
import {
  AgentToken,
  ChangedStatus,
  DeletedAgent,
  DeploymentList,
  RepairedAgent,
  RestartedAgent,
  RestoredSnapshot,
  RotatedToken,
  SnapshotList,
  UpdatedImage,
  UpdateImageRequest,
} from './schemas.ts'

const ofAgents = routeTraits({ scope: 'agents' })
const ofAgentsOnFullDisk = routeTraits({ scope: 'agents', worksOnFullDisk: true })

/** Who is let in, and in which words the status of an agent is told there (decisions, 19). */
type LifecycleFace = {
  guard: MiddlewareHandler<BackendEnv>
  toStatus(status: AgentRow['status']): string
}

type LifecycleRouteDeps = LifecycleDeps & DeleteDeps

const startAnswers = answers({ 200: ChangedStatus }, 'not_found', 'conflict', 'internal')
const stopAnswers = answers({ 200: ChangedStatus }, 'not_found', 'internal')
const restartAnswers = answers({ 200: RestartedAgent }, 'not_found', 'conflict', 'internal')
const updateAnswers = answers({ 200: UpdatedImage }, 'not_found', 'conflict', 'internal')
const repairAnswers = answers({ 200: RepairedAgent }, 'not_found', 'conflict', 'internal')
const listAnswers = answers({ 200: DeploymentList }, 'not_found')
const snapshotAnswers = answers({ 200: SnapshotList }, 'not_found')
const restoreAnswers = answers({ 200: RestoredSnapshot }, 'not_found', 'conflict', 'internal')
const deleteAnswers = answers({ 200: DeletedAgent }, 'internal')
const tokenAnswers = answers({ 200: AgentToken }, 'not_found')
const rotateTokenAnswers = answers({ 200: RotatedToken }, 'not_found', 'conflict', 'internal')

/** What owners can do to their agents. */
export function lifecycleWeb(deps: LifecycleRouteDeps & { guards: Pick<Guards, 'owner'> }) {
  return lifecycleRoutes(deps, { guard: deps.guards.owner, toStatus: (status) => status })
}

/** What services can do to agents. */
export function lifecycleBackend(deps: LifecycleRouteDeps & { internalKey: InternalKeyGuard }) {
  return lifecycleRoutes(deps, { guard: deps.internalKey, toStatus: toBackendStatus })
}

/** What can be done to an agent and asked about it, the same on both faces (Interface 4.4; decisions, 19). */
function lifecycleRoutes(deps: LifecycleRouteDeps, { guard, toStatus }: LifecycleFace) {
  const app = new Hono<BackendEnv>()

  app.post('/api/agents/:id/start', startAnswers, ofAgents, guard, validateAnyBody(NoBody), async (c) => {
    const agent = await startAgent(deps, c.var.principal, c.req.param('id'))
    return c.json({ success: true, status: toStatus(agent.status) })
  })

  app.post('/api/agents/:id/stop', stopAnswers, ofAgentsOnFullDisk, guard, validateAnyBody(NoBody), async (c) => {
    const agent = await stopAgent(deps, c.var.principal, c.req.param('id'))
    return c.json({ success: true, status: toStatus(agent.status) })
  })

  app.post('/api/agents/:id/restart', restartAnswers, ofAgents, guard, validateAnyBody(NoBody), async (c) => {
    const agent = await restartAgent(deps, c.var.principal, c.req.param('id'))
    // Clients read these two: no model of ours has ever been retired, so there is nothing to heal.
    const healing = { healedLegacyModel: false, healMessage: 'skip:no-legacy' }
    return c.json({
      success: true,
      status: toStatus(agent.status),
      ...healing,
      runtimeVersion: agent.runtimeVersion,
    })
  })

  app.post('/api/agents/:id/update', updateAnswers, ofAgents, guard, validateAnyBody(UpdateImageRequest), async (c) => {
    const { image } = c.req.valid('json')
    const { agent, ...outcome } = await updateUserAgent(deps, c.var.principal, c.req.param('id'), image)
    const status = toStatus(agent.status)
    return c.json({ success: true, status, ...outcome, runtimeVersion: agent.runtimeVersion })
  })

  app.post('/api/agents/:id/repair', repairAnswers, ofAgents, guard, validateAnyBody(NoBody), async (c) => {
    await repairUserAgent(deps, c.var.principal, c.req.param('id'))
    return c.json({ success: true, message: 'Agent repaired successfully' })
  })

  app.post(
    '/api/agents/:id/reset-memory',
    repairAnswers,
    ofAgentsOnFullDisk,
    guard,
    validateAnyBody(NoBody),
    async (c) => {
      await resetAgentMemory(deps, c.var.principal, c.req.param('id'))
      return c.json({ success: true, message: 'Memory reset successfully' })
    },
  )

  app.get('/api/agents/:id/deployments', listAnswers, guard, (c) => {
    const deployments = listDeployments(deps.db, c.var.principal, c.req.param('id'))
    return c.json({ deployments, count: deployments.length })
  })

  app.delete('/api/agents/:id', deleteAnswers, ofAgents, guard, async (c) => {
    const id = c.req.param('id')
    await deleteAgent(deps, c.var.principal, id)
    return c.json({ id, deleted: true })
  })

  return app.route('/', snapshotRoutes(deps, { guard, toStatus })).route('/', tokenRoutes(deps, { guard, toStatus }))
}

function snapshotRoutes(deps: LifecycleRouteDeps, { guard, toStatus }: LifecycleFace) {
  const app = new Hono<BackendEnv>()

  app.get('/api/agents/:id/snapshots', snapshotAnswers, guard, async (c) => {
    const snapshots = await listSnapshots(deps, c.var.principal, c.req.param('id'))
    return c.json({ snapshots, count: snapshots.length })
  })

  app.post(
    '/api/agents/:id/snapshots/:snapshotId/restore',
    restoreAnswers,
    ofAgents,
    guard,
    validateAnyBody(NoBody),
    async (c) => {
      const { id, snapshotId } = c.req.param()
      const { agent, backupPath } = await restoreSnapshot(deps, c.var.principal, id, snapshotId)
      return c.json({ success: true, status: toStatus(agent.status), backupPath })
    },
  )

  return app
}

function tokenRoutes(deps: LifecycleRouteDeps, { guard, toStatus }: LifecycleFace) {
  const app = new Hono<BackendEnv>()

  app.get('/api/agents/:id/token', tokenAnswers, ofAgents, guard, (c) => {
    const agent = getAgent(deps.db, c.var.principal, c.req.param('id'))
    return c.json({ token: openTokens(deps.sealer, agent).gatewayToken })
  })

  app.post(
    '/api/agents/:id/token/rotate',
    rotateTokenAnswers,
    ofAgentsOnFullDisk,
    guard,
    validateAnyBody(NoBody),
    async (c) => {
      const agent = await rotateToken(deps, c.var.principal, c.req.param('id'), 'gateway')
      const token = openTokens(deps.sealer, agent).gatewayToken
      return c.json({ success: true, status: toStatus(agent.status), token })
    },
  )

  // Nobody but the agent needs its new token.
  app.post(
    '/api/agents/:id/platform-token/rotate',
    startAnswers,
    ofAgentsOnFullDisk,
    guard,
    validateAnyBody(NoBody),
    async (c) => {
      const agent = await rotateToken(deps, c.var.principal, c.req.param('id'), 'platform')
      return c.json({ success: true, status: toStatus(agent.status) })
    },
  )

  return app
}
