import { type Context, Hono } from 'hono'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { SignedInUser, WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import type { Base } from '../../base.ts'
import { requireTool } from '../agent-tools/settings.ts'
import type { ChatDeps } from '../chat/send.ts'
import {
  chooseSkill,
  listCredentials,
  listSkills,
  openSession,
  setCredential,
  showRecent,
  showSession,
  showSessions,
  talk,
} from './agent-api.ts'
import { type AskingAgents, askAgent, listSiblings } from './agent-messages.ts'
import { checkHealth, DESCRIPTION } from './health.ts'
import {
  AgentActionRequest,
  AgentActionResult,
  AgentQuery,
  AgentReply,
  AgentView,
  AskAgentRequest,
  OtherAgentList,
} from './schemas.ts'

type AgentApiWebDeps = ChatDeps & {
  gateway: Pick<AgentGateway, 'health' | 'version'>
  webhooks: { emailSecret: string | undefined }
  guards: Guards
  requestsPerMinute: { chat: number }
}

/** Routes of `/api/agent`, where `action` selects the operation. */
export function agentApiWeb(deps: AgentApiWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.use(
    '/api/agent',
    limitRate(() => deps.requestsPerMinute.chat, 'Too many requests, please slow down.'),
  )

  app.get(
    '/api/agent',
    endpoint({
      summary: 'Returns health, sessions, memory or skills, by action',
      tag: 'Chat',
      responses: { 200: AgentView },
      errors: ['not_found', 'conflict', 'unavailable'],
    }),
    signedIn,
    validate('query', AgentQuery),
    async (c) => {
      // An agent may take longer than the listener's idle timeout.
      c.env.keepOpen?.(c.req.raw)
      return c.json(await answerQuery(deps, c.var.user, c.req.valid('query')))
    },
  )

  app.post(
    '/api/agent',
    endpoint({
      summary: 'Sends messages or configures an agent, by action',
      tag: 'Chat',
      responses: { 200: AgentActionResult },
      errors: ['payment_required', 'not_found', 'conflict', 'limited', 'upstream_failed', 'unavailable'],
      scope: 'agents',
    }),
    signedIn,
    validate('json', AgentActionRequest),
    async (c) => {
      c.env.keepOpen?.(c.req.raw)
      return c.json(await performAction(deps, c, c.req.valid('json')))
    },
  )

  return app
}

async function answerQuery(deps: AgentApiWebDeps, user: SignedInUser, query: AgentQuery) {
  const { action, agentId, sessionId = '' } = query
  switch (action) {
    case undefined:
      return DESCRIPTION
    case 'health':
      return checkHealth(deps, user, agentId)
    case 'sessions':
      return { sessions: showSessions(deps, user, agentId) }
    case 'session':
      return { session: showSession(deps, user, sessionId) }
    case 'memory':
      return { memory: showRecent(deps, user, agentId) }
    case 'skills':
      return { skills: listSkills(deps.db, user, agentId) }
    case 'credentials':
      return { credentials: listCredentials(deps.db, user.id) }
  }
}

async function performAction(deps: AgentApiWebDeps, c: Context<WebEnv>, request: AgentActionRequest) {
  const { user } = c.var
  switch (request.action) {
    case 'chat':
      return talk(deps, user, request, c.req.raw.signal)
    case 'create-session':
      return openSession(deps, user, request.agentId)
    case 'update-skill': {
      const { skillId, enabled } = request
      await chooseSkill(deps, user, request)
      return { success: true, skillId, enabled }
    }
    case 'set-credential': {
      const configured = await setCredential(deps, user.id, request)
      return { success: true, key: request.key, configured }
    }
  }
}

/** Routes for agents that message other agents of their owner. */
export function agentMessagesBackend(
  deps: Base & {
    gateway: Pick<AgentGateway, 'chat'>
    asking: AskingAgents
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
