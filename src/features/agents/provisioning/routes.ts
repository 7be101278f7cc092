import { type Context, Hono, type MiddlewareHandler } from 'hono'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, WebEnv } from '../../../http/env.ts'
import { errorHandler } from '../../../http/errors.ts'
import type { Idempotency } from '../../../http/idempotency.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { type AgentAddresses, toSubdomain, toUrl } from '../registry/address.ts'
import { getAgent } from '../registry/agents.ts'
import { listTokenChannels } from '../registry/config.ts'
import { toBackendStatus } from '../registry/status.ts'
import type { AgentRow } from '../registry/tables.ts'
import { findContainerStatus, type OrderDeps, provisionForTenant, provisionForUser, type Vouched } from './provision.ts'
import { Provisioned, ProvisionOrder, WebProvisioned } from './schemas.ts'

/** Provisioning route of the web API: signed-in users; the response holds no token. */
export function provisioningWeb(
  deps: OrderDeps & {
    guards: Guards
    idempotency: Idempotency
    addresses: AgentAddresses
    requestsPerMinute: { provision: number }
  },
) {
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

type ProvisioningBackendDeps = OrderDeps & {
  runtimes: Pick<Runtimes, 'runtimeOf'>
  internalKey: MiddlewareHandler<BackendEnv>
  idempotency: Idempotency
  addresses: AgentAddresses
  /** By provider; a provider without a URL runs on this machine and needs no key. */
  aiProviderUrls: Readonly<Record<string, string>>
}

/** Provisioning route of the backend API, internal key; limits follow the plan. */
export function provisioningBackend(deps: ProvisioningBackendDeps) {
  const app = new Hono<BackendEnv>()
  const answerError = errorHandler(deps.log)
  app.onError((error, c) => answerError(toBackendError(error), c))

  app.post(
    '/api/provision',
    endpoint({
      summary: 'Provisions an agent with its channels in one call',
      tag: 'Agents',
      responses: { 200: Provisioned },
      errors: ['payment_required', 'not_found', 'conflict', 'limited', 'unavailable'],
    }),
    deps.internalKey,
    validate('json', ProvisionOrder),
    deps.idempotency.forPrincipal,
    async (c) => {
      const { principal, once } = c.var
      const vouched = { ...readVouched(c), note: once.note }
      const agent = once.made
        ? getAgent(deps.db, principal, once.made)
        : await provisionForTenant(deps, principal, c.req.valid('json'), vouched)
      const container = await findContainerStatus(deps.runtimes, agent)
      return c.json({ ...toProvisioned(deps, agent), ...(container && { container }) })
    },
  )

  return app
}

/** These headers are trusted because the request carries the internal key. */
function readVouched(c: Context): Vouched {
  return {
    email: c.req.header('x-user-email'),
    plan: c.req.header('x-user-plan'),
    subscriptionId: c.req.header('x-billing-subscription-id'),
  }
}

function toProvisioned(deps: ProvisioningBackendDeps, agent: AgentRow): Provisioned {
  const { telegram, discord, whatsapp } = listTokenChannels(deps.sealer, agent)
  const baseUrl = deps.aiProviderUrls[agent.aiProvider === 'google' ? 'gemini' : agent.aiProvider] ?? null
  return {
    success: true,
    userId: agent.ownerId ?? agent.id,
    agentId: agent.id,
    id: agent.id,
    aiProvider: agent.aiProvider,
    aiProviderConfig: { model: agent.model, baseUrl, requiresKey: baseUrl !== null },
    plan: agent.plan,
    streamKey: null,
    liveStreamId: null,
    rtmpServer: null,
    playbackUrl: null,
    subdomain: toSubdomain(agent.id, deps.addresses),
    url: toUrl(agent.id, deps.addresses),
    hls: { playlistUrl: null },
    rtmp: { server: null, key: null },
    status: toBackendStatus(agent.status),
    ...(agent.status === 'error' && agent.lastError && { error: agent.lastError }),
    createdAt: agent.createdAt.toISOString(),
    metadata: {
      channels: { telegram: toWord(telegram), discord: toWord(discord), whatsapp: toWord(whatsapp) },
      streaming: { provider: null, lowLatency: null, resolution: null, bitrate: null },
    },
  }
}

function toWord(isEnabled: boolean): 'enabled' | 'disabled' {
  return isEnabled ? 'enabled' : 'disabled'
}

/** Turns a full plan into 402 and adds `success: false`. */
function toBackendError(error: Error): Error {
  if (!(error instanceof AppError)) return error
  const isFull = error.extra.code === 'AGENT_LIMIT_REACHED'
  const kind = isFull ? 'payment_required' : error.kind
  return new AppError(kind, error.message, { success: false, ...error.extra }, { cause: error })
}
