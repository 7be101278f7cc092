import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { errorHandler } from '../../../http/errors.ts'
import type { Idempotency } from '../../../http/idempotency.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { type AgentAddresses, toSubdomain, toUrl } from '../registry/address.ts'
import { type OrderDeps, provisionForUser } from './provision.ts'
import { ProvisionOrder, WebProvisioned } from './schemas.ts'

export type ProvisioningWebDeps = OrderDeps & {
  guards: Guards
  idempotency: Idempotency
  addresses: AgentAddresses
  requestsPerMinute: { provision: number }
}

/** Provisioning route of the web API: signed-in users; the response holds no token. */
export function provisioningWeb(deps: ProvisioningWebDeps) {
  const app = new Hono<WebEnv>()
  const answerError = errorHandler(deps.log)
  app.onError((error, c) => answerError(toWebError(error), c))

  app.post(
    '/api/provision',
    endpoint({
      summary: 'Provisions an agent with its channels in one call',
      tag: 'Agents',
      responses: { 200: WebProvisioned },
      errors: ['payment_required', 'not_found', 'conflict', 'unavailable'],
      scope: 'agents',
    }),
    limitRate(() => deps.requestsPerMinute.provision, 'Too many requests, please slow down.'),
    deps.guards.signedIn,
    validate('json', ProvisionOrder),
    deps.idempotency.forUser,
    async (c) => {
      const { user, once } = c.var
      const agent = await provisionForUser(deps, user, c.req.valid('json'), once)
      const body: WebProvisioned = {
        success: true,
        userId: user.id,
        agentId: agent.id,
        status: agent.status,
        ...(agent.status === 'error' && agent.lastError && { error: agent.lastError }),
        subdomain: toSubdomain(agent.id, deps.addresses),
        url: toUrl(agent.id, deps.addresses),
        streamKey: null,
        liveStreamId: null,
      }
      return c.json(body)
    },
  )

  return app
}

/** Adds `success: false` and turns a missing subscription into 403, as clients of this route expect. */
function toWebError(error: Error): Error {
  if (!(error instanceof AppError)) return error
  const extra = { success: false, ...error.extra }
  if (error.kind === 'unauthenticated') return new AppError(error.kind, 'Authentication required', extra)
  if (error.kind !== 'payment_required') return new AppError(error.kind, error.message, extra, { cause: error })
  return new AppError('forbidden', 'Active subscription required. Please purchase a plan to deploy.', extra)
}
