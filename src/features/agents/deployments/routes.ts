import { eq } from 'drizzle-orm'
import { Hono, type MiddlewareHandler } from 'hono'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import type { ChangeFeed } from '../../../db/changes.ts'
import { parameter } from '../../../db/prepare-once.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { type LiveStreams, liveStream } from '../../../http/streams/sse.ts'
import { validate } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import type { ImageRules } from '../operations/images.ts'
import { findAgentVersion } from '../operations/images.ts'
import { deployments } from '../operations/tables.ts'
import { type AgentAddresses, toSubdomain, toUrl } from '../registry/address.ts'
import { getAgent } from '../registry/agents.ts'
import type { CheckModel, CheckTokens } from '../registry/checks.ts'
import type { AgentStatusEvent } from '../registry/schemas.ts'
import { toBackendStatus, toShownStatus } from '../registry/status.ts'
import { agents } from '../registry/tables.ts'
import { deployAgent } from './request.ts'
import { DeployedAgent, DeploymentRequest } from './schemas.ts'

/** Streams an agent's deployment progress to its owner: a `status` event at once and at each change. */
export function deploymentsWeb(deps: Base & { guards: Guards; changes: ChangeFeed; liveStreams: LiveStreams }) {
  const app = new Hono<WebEnv>()
  const current = deps.db
    .select({
      status: agents.status,
      downAt: agents.downAt,
      lastError: agents.lastError,
      step: deployments.step,
      error: deployments.error,
      detail: deployments.detail,
    })
    .from(agents)
    .leftJoin(deployments, eq(deployments.agentId, agents.id))
    .where(eq(agents.id, parameter('id')))
    .prepare()

  app.get(
    '/api/agents/:id/events',
    endpoint({
      summary: 'Streams the status of an agent',
      tag: 'Deployments',
      responses: { 200: 'text/event-stream' },
      errors: ['not_found', 'limited'],
    }),
    deps.guards.signedIn,
    (c) => {
      const principal = { kind: 'user', user: c.var.user } as const
      const { id } = getAgent(deps.db, principal, c.req.param('id'))
      return liveStream(c, deps, principal, async ({ send, signal }) => {
        let sent = ''
        while (!signal.aborted) {
          const count = deps.changes.count()
          const row = current.get({ id })
          if (!row) return
          const { step, detail } = row
          const status = toShownStatus(row)
          const error = status === 'error' ? (row.lastError ?? row.error) : row.error
          const event: AgentStatusEvent = { status, step, error, detail }
          const text = JSON.stringify(event)
          if (text !== sent) await send('status', event)
          sent = text
          await deps.changes.changed(count, signal)
        }
      })
    },
  )

  return app
}

/** Deployment route of the backend API, internal key. */
export function deploymentsBackend(
  deps: Base & {
    runtimes: Pick<Runtimes, 'choose' | 'runtimeOf'>
    imageRules: Pick<ImageRules, 'image'>
    checkTokens: CheckTokens
    checkModel: CheckModel
    addresses: AgentAddresses
    killSwitch: boolean
    internalKey: MiddlewareHandler<BackendEnv>
    requestsPerMinute: { deployments: number }
  },
) {
  const app = new Hono<BackendEnv>()
  const { internalKey } = deps

  app.post(
    '/api/deployments',
    endpoint({
      summary: 'Deploys an agent for a user',
      tag: 'Deployments',
      responses: { 200: DeployedAgent, 201: DeployedAgent },
      errors: ['payment_required', 'not_found', 'conflict', 'unavailable'],
    }),
    limitRate(() => deps.requestsPerMinute.deployments, 'Deployment rate limit exceeded.'),
    internalKey,
    validate('json', DeploymentRequest),
    async (c) => {
      if (deps.killSwitch) throw new AppError('unavailable', 'Provisioning is temporarily disabled. Contact support.')
      const { agent, wasRunning } = await deployAgent(deps, c.var.principal, c.req.valid('json'))
      const body = {
        id: `deploy-${agent.id}`,
        agentId: agent.id,
        subdomain: toSubdomain(agent.id, deps.addresses),
        url: toUrl(agent.id, deps.addresses),
        status: toBackendStatus(agent.status),
        runtimeVersion: await findAgentVersion(deps, agent),
      }
      return c.json(body, wasRunning ? 200 : 201)
    },
  )

  return app
}
