import { Hono } from 'hono'
import type { Backend, LifecycleAction } from '../../adapters/backend.ts'
import type { WebEnv } from '../../http/env.ts'
import { limitRate } from '../../http/rate-limit.ts'
import type { Guards } from '../../http/session.ts'
import { validate } from '../../http/validate.ts'
import type { Enqueue } from '../../jobs/queue.ts'
import { type AgentAddresses, toWebsocketUrl } from './address.ts'
import { deleteAgent } from './delete.ts'
import { getAgent, listAgents } from './list.ts'
import { type ProvisionDeps, provisionAgent, provisionAgentInBackground } from './provision.ts'
import { ProvisionRequest, type WebAgent } from './schemas.ts'
import type { AgentRow } from './tables.ts'

export type AgentsWebDeps = ProvisionDeps & {
  backend: Backend
  enqueue: Enqueue
  guards: Guards
  addresses: AgentAddresses
  requestsPerMinute: { agents: number }
}

/** Agents as the dashboard sees them: own agents only (Spec 4.4, web). */
export function agentsWeb(deps: AgentsWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards
  const toWeb = (agent: AgentRow) => toWebAgent(agent, deps.addresses)

  app.use('/api/agents/*', limitRate(deps.requestsPerMinute.agents, 'Too many requests, please slow down.'))

  app.get('/api/agents', async (c) => {
    const user = await deps.guards.findUser(c)
    const agents = user ? listAgents(deps.db, { kind: 'user', user }).map(toWeb) : []
    return c.json({ agents, count: agents.length, status: 'ok' })
  })

  app.post('/api/agents/provision', signedIn, validate('json', ProvisionRequest), async (c) => {
    const { user } = c.var
    // RFC 7240: a client that wants to follow the deployment itself does not wait for it.
    const isAsync = c.req.header('prefer')?.includes('respond-async')
    const provision = isAsync ? provisionAgentInBackground : provisionAgent
    const agent = await provision(deps, user, c.req.valid('json'), { user, address: c.env.address })
    const { updatedAt: _updatedAt, ...shown } = toWeb(agent)
    return c.json({ success: true, agent: shown }, 201)
  })

  app.get('/api/agents/provision', signedIn, (c) => {
    const agents = listAgents(deps.db, { kind: 'user', user: c.var.user }).map(toWeb)
    return c.json({ success: true, agents, count: agents.length })
  })

  app.get('/api/agents/:id', signedIn, (c) => {
    const agent = getAgent(deps.db, { kind: 'user', user: c.var.user }, c.req.param('id'))
    return c.json({ agent: toWeb(agent), status: 'ok' })
  })

  app.delete('/api/agents/:id', signedIn, async (c) => {
    const id = c.req.param('id')
    await deleteAgent(deps, { kind: 'user', user: c.var.user }, id)
    return c.json({ id, deleted: true })
  })

  const changeLifecycle = async (
    action: LifecycleAction,
    id: string,
    user: WebEnv['Variables']['user'],
    address: string | null,
  ) => {
    getAgent(deps.db, { kind: 'user', user }, id)
    const { status } = await deps.backend.changeLifecycle(id, action, { user, address })
    // Rulings, 19: what the backend calls `active` is `running` here.
    return { success: true, status: status === 'active' ? 'running' : status }
  }

  app.post('/api/agents/:id/start', signedIn, async (c) =>
    c.json(await changeLifecycle('start', c.req.param('id'), c.var.user, c.env.address)),
  )
  app.post('/api/agents/:id/stop', signedIn, async (c) =>
    c.json(await changeLifecycle('stop', c.req.param('id'), c.var.user, c.env.address)),
  )
  app.post('/api/agents/:id/restart', signedIn, async (c) =>
    c.json(await changeLifecycle('restart', c.req.param('id'), c.var.user, c.env.address)),
  )

  return app
}

function toWebAgent(agent: AgentRow, addresses: AgentAddresses): WebAgent {
  return {
    id: agent.id,
    name: agent.name,
    model: agent.model,
    status: agent.status,
    websocketUrl: toWebsocketUrl(agent.id, addresses),
    createdAt: agent.createdAt.toISOString(),
    updatedAt: agent.updatedAt.toISOString(),
  }
}
