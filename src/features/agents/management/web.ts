import { Hono } from 'hono'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint, type Responses, type RouteOptions } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Idempotency } from '../../../http/idempotency.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { findUndonePayment } from '../cloning/follow-payments.ts'
import { type AgentAddresses, toWebsocketUrl } from '../registry/address.ts'
import { getAgent, listAgents } from '../registry/agents.ts'
import { toShownIsolation } from '../registry/checks.ts'
import {
  type AgentStatus,
  ChangeAgentRequest,
  CreateAgentRequest,
  ProvisionRequest,
  ProvisionResponse,
  UpdateAgentRequest,
  type WebAgent,
  WebAgentDetail,
  WebAgentList,
} from '../registry/schemas.ts'
import { findShownStatus, toShownAgentError, toShownStatus } from '../registry/status.ts'
import type { AgentRow } from '../registry/tables.ts'
import { toCreated, toUpdated } from './backend.ts'
import { createAgent, type ProvisionDeps, provisionAgent, provisionAgentInBackground } from './create.ts'
import {
  CreatedWebAgent,
  Labels,
  LabelsRequest,
  ProvisionedAgentList,
  RenamedAgent,
  UpdatedWebAgent,
} from './schemas.ts'
import { changeAgent, setLabels, updateAgent } from './update.ts'

const ofAgents: RouteOptions = { scope: 'agents' }

type AgentsWebDeps = ProvisionDeps & {
  runtimes: Pick<Runtimes, 'runtimeOf'>
  guards: Guards
  idempotency: Idempotency
  addresses: AgentAddresses
  requestsPerMinute: { agents: number }
}

const listAnswers: Responses = {
  responses: { 200: WebAgentList },
  errors: ['unauthenticated', 'forbidden', 'limited', 'internal'],
}
const provisionAnswers: Responses = {
  responses: { 201: ProvisionResponse },
  errors: ['payment_required', 'not_found', 'conflict', 'limited', 'unavailable'],
}
const listProvisionedAnswers: Responses = { responses: { 200: ProvisionedAgentList }, errors: ['limited'] }
const createAnswers: Responses = {
  responses: { 201: CreatedWebAgent },
  errors: ['payment_required', 'conflict', 'limited', 'internal', 'upstream_failed', 'unavailable'],
}
const showAnswers: Responses = { responses: { 200: WebAgentDetail }, errors: ['not_found', 'limited', 'internal'] }
const updateAnswers: Responses = {
  responses: { 200: UpdatedWebAgent },
  errors: ['payment_required', 'not_found', 'conflict', 'internal', 'upstream_failed', 'unavailable'],
}
const renameAnswers: Responses = { responses: { 200: RenamedAgent }, errors: ['not_found'] }

/** Agent routes of the web API: own agents only. */
export function agentsWeb(deps: AgentsWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards
  const { forUser } = deps.idempotency
  const toWeb = (agent: AgentRow, status?: AgentStatus) => toWebAgent(agent, deps.addresses, status)

  app.use(
    '/api/agents/*',
    limitRate(() => deps.requestsPerMinute.agents, 'Too many requests, please slow down.'),
  )

  app.get('/api/agents', endpoint({ summary: 'Lists agents', tag: 'Agents', ...listAnswers }), async (c) => {
    const user = await deps.guards.findUser(c)
    const agents = user ? listAgents(deps.db, { kind: 'user', user }).map((agent) => toWeb(agent)) : []
    return c.json({ agents, count: agents.length, status: 'ok' })
  })

  app.post(
    '/api/agents/provision',
    endpoint({ summary: 'Creates an agent and deploys it', tag: 'Agents', ...provisionAnswers, ...ofAgents }),
    signedIn,
    validate('json', ProvisionRequest),
    forUser,
    async (c) => {
      const { user, once } = c.var
      // RFC 7240: `respond-async` asks for a response before the deployment ends.
      const isAsync = c.req.header('prefer')?.includes('respond-async')
      const provision = isAsync ? provisionAgentInBackground : provisionAgent
      const agent = await provision(deps, user, c.req.valid('json'), once)
      const { updatedAt: _updatedAt, ...shown } = toWeb(agent)
      const { status, lastError } = shown
      return c.json({ success: true, agent: shown, ...(status === 'error' && lastError && { error: lastError }) }, 201)
    },
  )

  app.get(
    '/api/agents/provision',
    endpoint({ summary: 'Lists your agents for provisioning clients', tag: 'Agents', ...listProvisionedAnswers }),
    signedIn,
    (c) => {
      const agents = listAgents(deps.db, { kind: 'user', user: c.var.user }).map((agent) => toWeb(agent))
      return c.json({ success: true, agents, count: agents.length })
    },
  )

  app.post(
    '/api/agents',
    endpoint({ summary: 'Creates an agent without deploying it', tag: 'Agents', ...createAnswers, ...ofAgents }),
    signedIn,
    validate('json', CreateAgentRequest),
    async (c) => {
      const agent = await createAgent(deps, c.var.user, c.req.valid('json'))
      return c.json({ ...toCreated(agent, deps.addresses), agent: toWeb(agent) }, 201)
    },
  )

  app.get(
    '/api/agents/:id',
    endpoint({ summary: 'Returns an agent', tag: 'Agents', ...showAnswers }),
    signedIn,
    async (c) => {
      const agent = getAgent(deps.db, { kind: 'user', user: c.var.user }, c.req.param('id'))
      const paymentUndoneAt = findUndonePayment(deps.db, agent.id)?.toISOString() ?? null
      const { runtime, logBodies, guardrails } = agent
      const isolation = toShownIsolation(agent, deps.runtimes)
      const shown = toWeb(agent, await findShownStatus(deps.runtimes, agent))
      const detail = { ...shown, runtime, logBodies, guardrails, isolation }
      return c.json({ agent: detail, status: 'ok', paymentUndoneAt })
    },
  )

  app.route('/', changeAgentWeb(deps))
  return app
}

/** Routes that change an agent. */
function changeAgentWeb(deps: AgentsWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards
  const toWeb = (agent: AgentRow, status?: AgentStatus) => toWebAgent(agent, deps.addresses, status)

  app.put(
    '/api/agents/:id',
    endpoint({ summary: 'Changes the plan or provider of an agent', tag: 'Agents', ...updateAnswers, ...ofAgents }),
    signedIn,
    validate('json', UpdateAgentRequest),
    async (c) => {
      const principal = { kind: 'user', user: c.var.user } as const
      const agent = await updateAgent(deps, principal, c.req.param('id'), c.req.valid('json'))
      const { plan, aiProvider } = agent
      return c.json({
        ...toUpdated(agent, deps.addresses, toShownStatus(agent)),
        agent: { ...toWeb(agent), plan, aiProvider },
      })
    },
  )

  app.patch(
    '/api/agents/:id',
    endpoint({ summary: 'Changes the name or logging of an agent', tag: 'Agents', ...renameAnswers, ...ofAgents }),
    signedIn,
    validate('json', ChangeAgentRequest),
    async (c) => {
      const principal = { kind: 'user', user: c.var.user } as const
      const agent = await changeAgent(deps, principal, c.req.param('id'), c.req.valid('json'))
      const { id, name, status, updatedAt } = toWeb(agent)
      const { logBodies, guardrails } = agent
      return c.json({ success: true, agent: { id, name, status, updatedAt, logBodies, guardrails } })
    },
  )

  return app
}

function toWebAgent(agent: AgentRow, addresses: AgentAddresses, status = toShownStatus(agent)): WebAgent {
  return {
    id: agent.id,
    name: agent.name,
    model: agent.model,
    status,
    websocketUrl: toWebsocketUrl(agent.id, addresses),
    lastError: toShownAgentError(status, agent),
    createdAt: agent.createdAt.toISOString(),
    updatedAt: agent.updatedAt.toISOString(),
  }
}

/** Label routes of the web API: own agents only. */
export function labelsWeb(deps: { db: Db; guards: Pick<Guards, 'signedIn'> }) {
  const app = new Hono<WebEnv>()

  app.put(
    '/api/agents/:id/labels',
    endpoint({
      summary: 'Replaces the labels of an agent',
      tag: 'Agents',
      responses: { 200: Labels },
      errors: ['not_found'],
      scope: 'agents',
    }),
    deps.guards.signedIn,
    validate('json', LabelsRequest),
    async (c) => {
      const { labels } = c.req.valid('json')
      await setLabels(deps, { kind: 'user', user: c.var.user }, c.req.param('id'), labels)
      return c.json({ labels })
    },
  )

  return app
}
