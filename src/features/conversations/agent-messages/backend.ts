import { type Context, Hono } from 'hono'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import { endpoint } from '../../../http/endpoint.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate } from '../../../http/validate.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import type { Base } from '../../base.ts'
import { requireTool } from '../agent-tools/settings.ts'
import type { Asking } from './agent-messages.ts'
import { askAgent, listSiblings } from './agent-messages.ts'
import { AgentReply, AskAgentRequest, OtherAgentList } from './schemas.ts'

/** Routes for agents that message other agents of their owner. */
export function agentMessagesBackend(
  deps: Base & {
    gateway: Pick<AgentGateway, 'chat'>
    asking: Asking
    callers: CallerFinder
    requestsPerMinute: { backend: number }
  },
) {
  const app = new Hono<AgentCallerEnv>()
  const agent = requireAgent(deps.callers)
  const whoAsks = (c: Context) => String(c.get('agentId'))
  const limit = limitRate(() => deps.requestsPerMinute.backend, 'Too many requests, please slow down.', whoAsks)

  app.get(
    '/v1/agents',
    endpoint({
      summary: 'Lists the other agents of the same owner',
      tag: 'Agent messages',
      responses: { 200: OtherAgentList },
      errors: ['not_found'],
    }),
    agent,
    limit,
    (c) => c.json({ agents: listSiblings(deps.db, c.var.agentId) }),
  )

  app.post(
    '/v1/agents/:id/messages',
    endpoint({
      summary: 'Sends a message to another agent and returns its reply',
      tag: 'Agent messages',
      responses: { 200: AgentReply },
      errors: ['not_found', 'conflict'],
    }),
    agent,
    limit,
    validate('json', AskAgentRequest),
    async (c) => {
      requireTool(deps.db, c.var.agentId, 'message_agent')
      c.env.keepOpen?.(c.req.raw)
      const { message } = c.req.valid('json')
      return c.json({ reply: await askAgent(deps, c.var.agentId, c.req.param('id'), message, c.req.raw.signal) })
    },
  )

  return app
}
