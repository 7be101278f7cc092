import { Hono, type MiddlewareHandler } from 'hono'
import type { z } from 'zod'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { sendPieces, writeJsonArray } from '../../../http/streams/send-pieces.ts'
import { validate } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import type { ImageRules } from '../operations/images.ts'
import { findAgentVersion } from '../operations/images.ts'
import { type AgentAddresses, toSubdomain, toUrl } from '../registry/address.ts'
import { getAgent, listShort } from '../registry/agents.ts'
import { type CheckModel, type CheckTokens, toShownIsolation } from '../registry/checks.ts'
import { showConfig } from '../registry/config.ts'
import { ConfigRequest, ConfigResponse, CreateAgentRequest, UpdateAgentRequest } from '../registry/schemas.ts'
import { findShownStatus, toBackendStatus, toShownAgentError, toShownStatus } from '../registry/status.ts'
import type { AgentRow } from '../registry/tables.ts'
import { findVerification, toVerification } from '../verification/verify.ts'
import { createAgentFor } from './create.ts'
import { BackendAgent, BackendAgentList, CreatedAgent, UpdatedAgent } from './schemas.ts'
import { type ConfigDeps, changeConfig, updateAgent } from './update.ts'

const DEPLOYMENT_REFUSALS = ['payment_required', 'conflict', 'internal', 'upstream_failed', 'unavailable'] as const

/** Agent routes of the backend API: flat bodies, internal key. */
export function agentsBackend(
  deps: Base & {
    checkTokens: CheckTokens
    checkModel: CheckModel
    runtimes: Pick<Runtimes, 'choose' | 'runtimeOf'>
    imageRules: Pick<ImageRules, 'image'>
    addresses: AgentAddresses
    internalKey: MiddlewareHandler<BackendEnv>
  },
) {
  const app = new Hono<BackendEnv>()
  const { internalKey, addresses } = deps

  app.get(
    '/api/agents',
    endpoint({
      summary: 'Lists agents',
      tag: 'Agents',
      responses: { 200: BackendAgentList },
      errors: ['unauthenticated', 'forbidden', 'limited', 'internal'],
    }),
    internalKey,
    (c) => {
      const pages = listShort(deps.db, c.var.principal)
      const shown = pages.map((page) => page.map((agent) => toListed(agent, addresses)))
      return sendPieces(c, deps, { type: 'application/json', pieces: writeJsonArray(shown) })
    },
  )

  app.post(
    '/api/agents',
    endpoint({
      summary: 'Creates an agent without deploying it',
      tag: 'Agents',
      responses: { 201: CreatedAgent },
      errors: [...DEPLOYMENT_REFUSALS, 'limited'],
    }),
    internalKey,
    validate('json', CreateAgentRequest),
    async (c) => {
      const agent = await createAgentFor(deps, c.var.principal, c.req.valid('json'))
      return c.json(toCreated(agent, addresses), 201)
    },
  )

  app.get(
    '/api/agents/:id',
    endpoint({
      summary: 'Returns an agent',
      tag: 'Agents',
      responses: { 200: BackendAgent },
      errors: ['not_found', 'limited', 'internal'],
    }),
    internalKey,
    async (c) => {
      const agent = getAgent(deps.db, c.var.principal, c.req.param('id'))
      const status = await findShownStatus(deps.runtimes, agent)
      const { verified, verificationType, attestationUid, verifiedAt } = toVerification(
        findVerification(deps.db, agent.id),
      )
      return c.json({
        id: agent.id,
        status: toBackendStatus(status),
        startedAt: agent.startedAt?.toISOString() ?? null,
        plan: agent.plan,
        subdomain: toSubdomain(agent.id, addresses),
        url: toUrl(agent.id, addresses),
        runtimeVersion: await findAgentVersion(deps, agent),
        lastError: toShownAgentError(status, agent),
        isolation: toShownIsolation(agent, deps.runtimes),
        verified,
        verificationType,
        attestationUid,
        verifiedAt,
      })
    },
  )

  app.put(
    '/api/agents/:id',
    endpoint({
      summary: 'Changes the plan or provider of an agent',
      tag: 'Agents',
      responses: { 200: UpdatedAgent },
      errors: [...DEPLOYMENT_REFUSALS, 'not_found'],
    }),
    internalKey,
    validate('json', UpdateAgentRequest),
    async (c) => {
      const agent = await updateAgent(deps, c.var.principal, c.req.param('id'), c.req.valid('json'))
      return c.json(toUpdated(agent, addresses, toBackendStatus(toShownStatus(agent))))
    },
  )

  return app
}

function toListed(
  { id, createdAt, ...agent }: Pick<AgentRow, 'id' | 'status' | 'downAt' | 'createdAt'>,
  addresses: AgentAddresses,
): z.infer<typeof BackendAgentList>[number] {
  return {
    id,
    status: toBackendStatus(toShownStatus(agent)),
    created: createdAt.toISOString(),
    subdomain: toSubdomain(id, addresses),
    url: toUrl(id, addresses),
  }
}

/** Routes for agent settings, shared by the web and the backend API. Secrets are write-only. */
export function agentConfigRoutes(deps: ConfigDeps, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/config',
    endpoint({
      summary: 'Returns the settings of an agent, secrets masked',
      tag: 'Agents',
      responses: { 200: ConfigResponse },
      errors: ['not_found'],
    }),
    guard,
    (c) => {
      const agent = getAgent(deps.db, c.var.principal, c.req.param('id'))
      return c.json({ config: showConfig(deps.sealer, agent), status: 'ok' })
    },
  )

  app.put(
    '/api/agents/:id/config',
    endpoint({
      summary: 'Changes the settings of an agent',
      tag: 'Agents',
      responses: { 200: ConfigResponse },
      errors: ['payment_required', 'not_found', 'conflict', 'upstream_failed', 'unavailable'],
      scope: 'agents',
    }),
    guard,
    validate('json', ConfigRequest),
    async (c) => {
      const agent = await changeConfig(deps, c.var.principal, c.req.param('id'), c.req.valid('json'))
      return c.json({ config: showConfig(deps.sealer, agent), status: 'updated' })
    },
  )

  return app
}

/** Builds the response to a creation, the same on the web and the backend API. */
export function toCreated(agent: AgentRow, addresses: AgentAddresses): CreatedAgent {
  return {
    id: agent.id,
    name: agent.name,
    agentId: agent.id,
    status: agent.status,
    subdomain: toSubdomain(agent.id, addresses),
    url: toUrl(agent.id, addresses),
    createdAt: agent.createdAt.toISOString(),
  }
}

/** Builds the response to a change. `status` uses the vocabulary of the API that responds. */
export function toUpdated(agent: AgentRow, addresses: AgentAddresses, status: string): UpdatedAgent {
  return {
    id: agent.id,
    plan: agent.plan,
    aiProvider: agent.aiProvider,
    subdomain: toSubdomain(agent.id, addresses),
    status,
    message: 'Agent updated',
  }
}
