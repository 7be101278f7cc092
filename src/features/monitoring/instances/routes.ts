import { type Context, Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint, type Responses, type RouteOptions } from '../../../http/endpoint.ts'
import type { Principal, SignedInUser, WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { NoBody, validateAnyBody } from '../../../http/validate.ts'
import {
  type LifecycleDeps,
  repairUserAgent,
  resetAgentMemory,
  restartAgent,
  startAgent,
  stopAgent,
  updateUserAgent,
} from '../../agents/deployments/lifecycle.ts'
import { AgentToken, ChangedStatus, UpdateImageRequest } from '../../agents/deployments/schemas.ts'
import { findAgentVersion } from '../../agents/operations/images.ts'
import { type AgentAddresses, toSubdomain, toUrl } from '../../agents/registry/address.ts'
import { findAgent, listAgents, openTokens } from '../../agents/registry/agents.ts'
import { findShownStatus } from '../../agents/registry/status.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { findAgentStats, type StatsDeps } from '../metrics/agent-stats.ts'
import { Instance, InstanceStats } from './schemas.ts'

type AgentStats = Awaited<ReturnType<typeof findAgentStats>>

const ofAgents: RouteOptions = { scope: 'agents' }
const ofAgentsOnFullDisk: RouteOptions = { scope: 'agents', worksOnFullDisk: true }

type InstancesWebDeps = LifecycleDeps & {
  gateway: StatsDeps['gateway']
  guards: Guards
  addresses: AgentAddresses
  requestsPerMinute: { instance: number }
}

type Change = (deps: LifecycleDeps, principal: Principal, id: string) => Promise<unknown>

/** Status words of instances that differ from those of agents. */
const STATUSES: Readonly<Record<string, string>> = { provisioning: 'starting' }

const showAnswers: Responses = { responses: { 200: Instance }, errors: ['not_found', 'limited'] }
const statsAnswers: Responses = { responses: { 200: InstanceStats }, errors: ['not_found'] }
const tokenAnswers: Responses = { responses: { 200: AgentToken }, errors: ['not_found'] }
const startAnswers: Responses = { responses: { 200: ChangedStatus }, errors: ['not_found', 'conflict'] }
const stopAnswers: Responses = { responses: { 200: ChangedStatus }, errors: ['not_found', 'conflict', 'internal'] }

/** A user's agent as an instance, for clients that only know user ids. */
export function instancesWeb(deps: InstancesWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.use(
    '/api/instance/*',
    limitRate(() => deps.requestsPerMinute.instance, 'Too many requests, please slow down.'),
  )

  /** `done` is the status word that existing clients expect after the change. */
  const change = async (c: Context<WebEnv>, name: string, carryOut: Change, done: string) => {
    const { id } = getInstance(deps.db, c.var.user, name)
    try {
      await carryOut(deps, { kind: 'user', user: c.var.user }, id)
    } catch (error) {
      throw error instanceof AppError ? toFailure(error) : error
    }
    return c.json({ success: true, status: done })
  }

  app.route('/', instanceReads(deps))

  app.post(
    '/api/instance/:userId/start',
    endpoint({ summary: 'Starts the instance', tag: 'Instances', ...startAnswers, ...ofAgents }),
    signedIn,
    validateAnyBody(NoBody),
    (c) => change(c, c.req.param('userId'), startAgent, 'starting'),
  )
  app.post(
    '/api/instance/:userId/stop',
    endpoint({ summary: 'Stops the instance', tag: 'Instances', ...stopAnswers, ...ofAgentsOnFullDisk }),
    signedIn,
    validateAnyBody(NoBody),
    (c) => change(c, c.req.param('userId'), stopAgent, 'stopped'),
  )
  app.post(
    '/api/instance/:userId/restart',
    endpoint({ summary: 'Restarts the instance', tag: 'Instances', ...startAnswers, ...ofAgents }),
    signedIn,
    validateAnyBody(NoBody),
    (c) => change(c, c.req.param('userId'), restartAgent, 'restarting'),
  )
  app.post(
    '/api/instance/:userId/repair',
    endpoint({ summary: 'Repairs the instance', tag: 'Instances', ...startAnswers, ...ofAgents }),
    signedIn,
    validateAnyBody(NoBody),
    (c) => change(c, c.req.param('userId'), repairUserAgent, 'repaired'),
  )
  app.post(
    '/api/instance/:userId/reset-memory',
    endpoint({
      summary: 'Clears the memory of the instance',
      tag: 'Instances',
      ...startAnswers,
      ...ofAgentsOnFullDisk,
    }),
    signedIn,
    validateAnyBody(NoBody),
    (c) => change(c, c.req.param('userId'), resetAgentMemory, 'reset'),
  )
  app.post(
    '/api/instance/:userId/update',
    endpoint({ summary: 'Updates the instance', tag: 'Instances', ...startAnswers, ...ofAgents }),
    signedIn,
    validateAnyBody(UpdateImageRequest),
    (c) => {
      const { image } = c.req.valid('json')
      const update: Change = (all, principal, id) => updateUserAgent(all, principal, id, image)
      return change(c, c.req.param('userId'), update, 'updating')
    },
  )

  return app
}

function instanceReads(deps: InstancesWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/instance/:userId',
    endpoint({ summary: 'Returns the instance of a user', tag: 'Instances', ...showAnswers }),
    signedIn,
    async (c) => {
      const agent = getInstance(deps.db, c.var.user, c.req.param('userId'))
      const status = await findShownStatus(deps.runtimes, agent)
      const version = await findAgentVersion(deps, agent)
      return c.json(
        toInstance(
          deps.addresses,
          c.req.param('userId'),
          { ...agent, runtimeVersion: version },
          STATUSES[status] ?? status,
        ),
      )
    },
  )

  app.get(
    '/api/instance/:userId/stats',
    endpoint({ summary: 'Returns the resource usage of the instance', tag: 'Instances', ...statsAnswers }),
    signedIn,
    async (c) => {
      const agent = getInstance(deps.db, c.var.user, c.req.param('userId'))
      const [stats, version] = [await findAgentStats(deps, agent), await findAgentVersion(deps, agent)]
      return c.json(toInstanceStats(c.req.param('userId'), { ...agent, runtimeVersion: version }, stats))
    },
  )

  app.get(
    '/api/instance/:userId/token',
    endpoint({
      summary: "Returns the token of the instance's gateway",
      tag: 'Instances',
      ...tokenAnswers,
      ...ofAgents,
    }),
    signedIn,
    (c) => {
      const agent = getInstance(deps.db, c.var.user, c.req.param('userId'))
      return c.json({ token: openTokens(deps.sealer, agent).gatewayToken })
    },
  )

  return app
}

function toInstance(addresses: AgentAddresses, userId: string, agent: AgentRow, status: string): Instance {
  return {
    userId,
    agentId: agent.id,
    status,
    startedAt: agent.startedAt?.toISOString() ?? null,
    subdomain: toSubdomain(agent.id, addresses),
    url: toUrl(agent.id, addresses),
    plan: agent.plan,
    runtimeVersion: agent.runtimeVersion,
  }
}

function toInstanceStats(userId: string, agent: AgentRow, stats: AgentStats): InstanceStats {
  // A sleeping agent answers messages.
  const isHealthy = stats.health === 'healthy' || stats.status === 'sleeping'
  return {
    userId,
    status: stats.status === 'running' && !isHealthy ? 'unreachable' : stats.status,
    health: isHealthy ? 'healthy' : 'unreachable',
    cpu: stats.cpu,
    memory: stats.memory,
    uptime: stats.uptimeFormatted,
    messages: stats.messagesProcessed,
    errors: stats.messagesFailed,
    plan: agent.plan,
    runtimeVersion: agent.runtimeVersion,
  }
}

/** Existing clients expect `success: false` in failures. */
function toFailure(error: AppError): AppError {
  return new AppError(error.kind, error.message, { ...error.extra, success: false }, { cause: error })
}

/**
 * Returns the agent `name`, or for the user's own id their newest running or sleeping agent, else their newest.
 * @throws AppError `not_found` when there is none or it is another user's.
 */
function getInstance(db: Db, user: SignedInUser, name: string): AgentRow {
  const principal = { kind: 'user', user } as const
  const found = name === user.id ? newestOf(listAgents(db, principal)) : findAgent(db, principal, name)
  if (!found) throw new AppError('not_found', 'No instance found. Please deploy first.')
  return found
}

function newestOf(agents: AgentRow[]): AgentRow | undefined {
  return agents.find(({ status }) => status === 'running' || status === 'sleeping') ?? agents[0]
}
