import { Hono, type MiddlewareHandler } from 'hono'
import { endpoint, type Responses, type RouteOptions } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import type { InternalKeyGuard } from '../../../http/internal-key.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { NoBody, validateAnyBody } from '../../../http/validate.ts'
import { getAgent, openTokens } from '../registry/agents.ts'
import { toBackendStatus } from '../registry/status.ts'
import type { AgentRow } from '../registry/tables.ts'
import { SnapshotList } from '../snapshots/schemas.ts'
import { listSnapshots } from '../snapshots/snapshots.ts'
import { type DeletionDeps, deleteAgent } from './delete.ts'
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
  UpdatedImage,
  UpdateImageRequest,
} from './schemas.ts'

const ofAgents: RouteOptions = { scope: 'agents' }
const ofAgentsOnFullDisk: RouteOptions = { scope: 'agents', worksOnFullDisk: true }

/** Access guard and status vocabulary of one API. */
type LifecycleApi = {
  guard: MiddlewareHandler<BackendEnv>
  toStatus(status: AgentRow['status']): string
}

type LifecycleRouteDeps = LifecycleDeps & DeletionDeps

const startAnswers: Responses = { responses: { 200: ChangedStatus }, errors: ['not_found', 'conflict', 'internal'] }
const stopAnswers: Responses = { responses: { 200: ChangedStatus }, errors: ['not_found', 'conflict', 'internal'] }
const restartAnswers: Responses = { responses: { 200: RestartedAgent }, errors: ['not_found', 'conflict', 'internal'] }
const updateAnswers: Responses = { responses: { 200: UpdatedImage }, errors: ['not_found', 'conflict', 'internal'] }
const repairAnswers: Responses = { responses: { 200: RepairedAgent }, errors: ['not_found', 'conflict', 'internal'] }
const listAnswers: Responses = { responses: { 200: DeploymentList }, errors: ['not_found'] }
const snapshotAnswers: Responses = { responses: { 200: SnapshotList }, errors: ['not_found'] }
const restoreAnswers: Responses = {
  responses: { 200: RestoredSnapshot },
  errors: ['not_found', 'conflict', 'internal'],
}
const deleteAnswers: Responses = { responses: { 200: DeletedAgent }, errors: ['internal'] }
const tokenAnswers: Responses = { responses: { 200: AgentToken }, errors: ['not_found'] }
const rotateTokenAnswers: Responses = {
  responses: { 200: RotatedToken },
  errors: ['not_found', 'conflict', 'internal'],
}

/** Lifecycle routes of the web API. */
export function lifecycleWeb(deps: LifecycleRouteDeps & { guards: Pick<Guards, 'owner'> }) {
  return lifecycleRoutes(deps, { guard: deps.guards.owner, toStatus: (status) => status })
}

/** Lifecycle routes of the backend API. */
export function lifecycleBackend(deps: LifecycleRouteDeps & { internalKey: InternalKeyGuard }) {
  return lifecycleRoutes(deps, { guard: deps.internalKey, toStatus: toBackendStatus })
}

/** Routes for the lifecycle, snapshots and tokens of an agent, shared by both APIs. */
function lifecycleRoutes(deps: LifecycleRouteDeps, { guard, toStatus }: LifecycleApi) {
  const app = new Hono<BackendEnv>()

  app.post(
    '/api/agents/:id/start',
    endpoint({ summary: 'Starts an agent', tag: 'Deployments', ...startAnswers, ...ofAgents }),
    guard,
    validateAnyBody(NoBody),
    async (c) => {
      const agent = await startAgent(deps, c.var.principal, c.req.param('id'))
      return c.json({ success: true, status: toStatus(agent.status) })
    },
  )

  app.post(
    '/api/agents/:id/stop',
    endpoint({ summary: 'Stops an agent', tag: 'Deployments', ...stopAnswers, ...ofAgentsOnFullDisk }),
    guard,
    validateAnyBody(NoBody),
    async (c) => {
      const agent = await stopAgent(deps, c.var.principal, c.req.param('id'))
      return c.json({ success: true, status: toStatus(agent.status) })
    },
  )

  app.post(
    '/api/agents/:id/restart',
    endpoint({ summary: 'Restarts an agent', tag: 'Deployments', ...restartAnswers, ...ofAgents }),
    guard,
    validateAnyBody(NoBody),
    async (c) => {
      const agent = await restartAgent(deps, c.var.principal, c.req.param('id'))
      // Existing clients read both fields; no model has been retired, so their values are constant.
      const healing = { healedLegacyModel: false, healMessage: 'skip:no-legacy' }
      return c.json({
        success: true,
        status: toStatus(agent.status),
        ...healing,
        runtimeVersion: agent.runtimeVersion,
      })
    },
  )

  app.post(
    '/api/agents/:id/update',
    endpoint({
      summary: 'Updates an agent to another version or image',
      tag: 'Deployments',
      ...updateAnswers,
      ...ofAgents,
    }),
    guard,
    validateAnyBody(UpdateImageRequest),
    async (c) => {
      const { image } = c.req.valid('json')
      const { agent, ...outcome } = await updateUserAgent(deps, c.var.principal, c.req.param('id'), image)
      const status = toStatus(agent.status)
      return c.json({ success: true, status, ...outcome, runtimeVersion: agent.runtimeVersion })
    },
  )

  app.post(
    '/api/agents/:id/repair',
    endpoint({ summary: 'Repairs an unhealthy agent', tag: 'Deployments', ...repairAnswers, ...ofAgents }),
    guard,
    validateAnyBody(NoBody),
    async (c) => {
      await repairUserAgent(deps, c.var.principal, c.req.param('id'))
      return c.json({ success: true, message: 'Agent repaired successfully' })
    },
  )

  app.post(
    '/api/agents/:id/reset-memory',
    endpoint({ summary: 'Clears the memory of an agent', tag: 'Deployments', ...repairAnswers, ...ofAgentsOnFullDisk }),
    guard,
    validateAnyBody(NoBody),
    async (c) => {
      await resetAgentMemory(deps, c.var.principal, c.req.param('id'))
      return c.json({ success: true, message: 'Memory reset successfully' })
    },
  )

  app.get(
    '/api/agents/:id/deployments',
    endpoint({ summary: 'Lists deployments of an agent', tag: 'Deployments', ...listAnswers }),
    guard,
    (c) => {
      const deployments = listDeployments(deps.db, c.var.principal, c.req.param('id'))
      return c.json({ deployments, count: deployments.length })
    },
  )

  app.delete(
    '/api/agents/:id',
    endpoint({ summary: 'Deletes an agent with its workspace', tag: 'Deployments', ...deleteAnswers, ...ofAgents }),
    guard,
    async (c) => {
      const id = c.req.param('id')
      await deleteAgent(deps, c.var.principal, id)
      return c.json({ id, deleted: true })
    },
  )

  return app.route('/', snapshotRoutes(deps, { guard, toStatus })).route('/', tokenRoutes(deps, { guard, toStatus }))
}

function snapshotRoutes(deps: LifecycleRouteDeps, { guard, toStatus }: LifecycleApi) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/snapshots',
    endpoint({ summary: 'Lists snapshots of an agent', tag: 'Deployments', ...snapshotAnswers }),
    guard,
    async (c) => {
      const snapshots = await listSnapshots(deps, c.var.principal, c.req.param('id'))
      return c.json({ snapshots, count: snapshots.length })
    },
  )

  app.post(
    '/api/agents/:id/snapshots/:snapshotId/restore',
    endpoint({ summary: 'Restores a snapshot of an agent', tag: 'Deployments', ...restoreAnswers, ...ofAgents }),
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

function tokenRoutes(deps: LifecycleRouteDeps, { guard, toStatus }: LifecycleApi) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/token',
    endpoint({ summary: "Returns the token of an agent's gateway", tag: 'Deployments', ...tokenAnswers, ...ofAgents }),
    guard,
    (c) => {
      const agent = getAgent(deps.db, c.var.principal, c.req.param('id'))
      return c.json({ token: openTokens(deps.sealer, agent).gatewayToken })
    },
  )

  app.post(
    '/api/agents/:id/token/rotate',
    endpoint({
      summary: "Rotates the token of an agent's gateway",
      tag: 'Deployments',
      ...rotateTokenAnswers,
      ...ofAgentsOnFullDisk,
    }),
    guard,
    validateAnyBody(NoBody),
    async (c) => {
      const agent = await rotateToken(deps, c.var.principal, c.req.param('id'), 'gateway')
      const token = openTokens(deps.sealer, agent).gatewayToken
      return c.json({ success: true, status: toStatus(agent.status), token })
    },
  )

  // The response leaves the token out: only the agent needs it.
  app.post(
    '/api/agents/:id/platform-token/rotate',
    endpoint({
      summary: 'Rotates the platform token of an agent',
      tag: 'Deployments',
      ...startAnswers,
      ...ofAgentsOnFullDisk,
    }),
    guard,
    validateAnyBody(NoBody),
    async (c) => {
      const agent = await rotateToken(deps, c.var.principal, c.req.param('id'), 'platform')
      return c.json({ success: true, status: toStatus(agent.status) })
    },
  )

  return app
}
