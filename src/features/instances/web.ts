import { type Context, Hono } from 'hono'
import type { Backend, LifecycleAction } from '../../adapters/backend.ts'
import { NoBody } from '../../core/action.ts'
import { AppError } from '../../core/errors.ts'
import type { Sealer } from '../../core/secrets.ts'
import type { Db } from '../../db/open.ts'
import type { WebEnv } from '../../http/env.ts'
import { limitRate } from '../../http/rate-limit.ts'
import type { Guards } from '../../http/session.ts'
import { validateAnyBody } from '../../http/validate.ts'
import { type AgentAddresses, toSubdomain, toUrl } from '../agents/address.ts'
import { openTokens } from '../agents/create.ts'
import { toWebStatus } from '../agents/status.ts'
import type { AgentRow } from '../agents/tables.ts'
import { UpdateImageRequest } from '../deployments/schemas.ts'
import { getInstance } from './find.ts'
import type { Instance, InstanceStats } from './schemas.ts'

export type InstancesWebDeps = {
  db: Db
  sealer: Sealer
  backend: Pick<Backend, 'changeLifecycle' | 'stats' | 'status'>
  guards: Guards
  addresses: AgentAddresses
  requestsPerMinute: { instance: number }
}

/** What clients of the instance routes read when a change has been made. */
const CHANGED: Readonly<Record<LifecycleAction, string>> = {
  start: 'starting',
  stop: 'stopped',
  restart: 'restarting',
  repair: 'repaired',
  'reset-memory': 'reset',
  update: 'updating',
}
/** In which words an instance is spoken of, where they differ from an agent's. */
const STATUSES: Readonly<Record<string, string>> = { provisioning: 'starting' }

/** The agent of a user under the name of instance (Spec 4.4), for clients that know users only. */
export function instancesWeb(deps: InstancesWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.use('/api/instance/*', limitRate(deps.requestsPerMinute.instance, 'Too many requests, please slow down.'))

  const callerOf = (c: Context<WebEnv>) => ({ user: c.var.user, address: c.env.address })
  const change = async (
    c: Context<WebEnv>,
    name: string,
    action: LifecycleAction,
    request: Record<string, unknown> = {},
  ) => {
    const { id } = getInstance(deps.db, c.var.user, name)
    try {
      await deps.backend.changeLifecycle(id, action, callerOf(c), request)
    } catch (error) {
      throw error instanceof AppError ? toFailure(error) : error
    }
    return c.json({ success: true, status: CHANGED[action] })
  }

  app.get('/api/instance/:userId', signedIn, async (c) => {
    const agent = getInstance(deps.db, c.var.user, c.req.param('userId'))
    const status = toWebStatus(await deps.backend.status(agent.id, callerOf(c)))
    return c.json(toInstance(deps.addresses, c.req.param('userId'), agent, STATUSES[status] ?? status))
  })

  app.get('/api/instance/:userId/stats', signedIn, async (c) => {
    const agent = getInstance(deps.db, c.var.user, c.req.param('userId'))
    const { stats } = await deps.backend.stats(agent.id, callerOf(c))
    const isHealthy = stats.health === 'healthy'
    const shown: InstanceStats = {
      userId: c.req.param('userId'),
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
    return c.json(shown)
  })

  app.get('/api/instance/:userId/token', signedIn, (c) => {
    const agent = getInstance(deps.db, c.var.user, c.req.param('userId'))
    return c.json({ token: openTokens(deps.sealer, agent).gatewayToken })
  })

  app.post('/api/instance/:userId/start', signedIn, validateAnyBody(NoBody), (c) =>
    change(c, c.req.param('userId'), 'start'),
  )
  app.post('/api/instance/:userId/stop', signedIn, validateAnyBody(NoBody), (c) =>
    change(c, c.req.param('userId'), 'stop'),
  )
  app.post('/api/instance/:userId/restart', signedIn, validateAnyBody(NoBody), (c) =>
    change(c, c.req.param('userId'), 'restart'),
  )
  app.post('/api/instance/:userId/repair', signedIn, validateAnyBody(NoBody), (c) =>
    change(c, c.req.param('userId'), 'repair'),
  )
  app.post('/api/instance/:userId/reset-memory', signedIn, validateAnyBody(NoBody), (c) =>
    change(c, c.req.param('userId'), 'reset-memory'),
  )
  app.post('/api/instance/:userId/update', signedIn, validateAnyBody(UpdateImageRequest), (c) =>
    change(c, c.req.param('userId'), 'update', c.req.valid('json')),
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

/** Failures of a change say so in a field of their own. */
function toFailure(error: AppError): AppError {
  return new AppError(error.kind, error.message, { ...error.extra, success: false }, { cause: error })
}
