import { Hono, type MiddlewareHandler } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate } from '../../../http/validate.ts'
import { findAgentVersion, type VersionDeps } from '../operations/images.ts'
import { type AgentAddresses, toSubdomain, toUrl } from '../registry/address.ts'
import type { CheckModel, CheckTokens } from '../registry/checks.ts'
import { toBackendStatus } from '../registry/status.ts'
import { deployAgent, type RequestDeps } from './request.ts'
import { DeployedAgent, DeploymentRequest } from './schemas.ts'

export type DeploymentsBackendDeps = RequestDeps &
  VersionDeps & {
    checkTokens: CheckTokens
    checkModel: CheckModel
    addresses: AgentAddresses
    killSwitch: boolean
    internalKey: MiddlewareHandler<BackendEnv>
    requestsPerMinute: { deployments: number }
  }

/** Deployment route of the backend API, internal key. */
export function deploymentsBackend(deps: DeploymentsBackendDeps) {
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
