import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { EarlyEnd } from '../../../core/agents/collect-turn.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate } from '../../../http/validate.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { Catalogue } from '../../ai/catalogue/catalogue.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import type { Base } from '../../base.ts'
import { AgentTools, OwnTools, ToolsRequest } from './schemas.ts'
import { changeTools, notifyEarlyEnd, readToolSettings, showTools } from './settings.ts'

/**
 * Routes for tool settings. Changing them needs a session or a key without limits, because a limited key often belongs
 * to an agent.
 */
export function agentToolsWeb(deps: Base, owner: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/tools',
    endpoint({
      summary: 'Returns the tools of an agent and their limits',
      tag: 'Agent tools',
      responses: { 200: AgentTools },
      errors: ['not_found'],
    }),
    owner,
    (c) => c.json(showTools(deps.db, getAgent(deps.db, c.var.principal, c.req.param('id')))),
  )

  app.put(
    '/api/agents/:id/tools',
    endpoint({
      summary: 'Changes the tools of an agent and their limits',
      tag: 'Agent tools',
      responses: { 200: AgentTools },
      errors: ['not_found'],
    }),
    owner,
    validate('json', ToolsRequest),
    async (c) => c.json(await changeTools(deps, c.var.principal, c.req.param('id'), c.req.valid('json'))),
  )

  return app
}

/** Routes through which an agent reads its tool settings and reports turns that a limit ended. */
export function agentToolsBackend(
  deps: Base & {
    sendNotice: SendNotice
    callers: CallerFinder
    catalogue: Pick<Catalogue, 'findPrice'>
    requestsPerMinute: { backend: number }
  },
) {
  const app = new Hono<AgentCallerEnv>()
  const whoAsks = (c: Context) => String(c.get('agentId'))

  app.get(
    '/v1/tools',
    endpoint({
      summary: 'Lists the tools an agent may use',
      tag: 'Agent tools',
      responses: { 200: OwnTools },
      errors: ['not_found'],
    }),
    requireAgent(deps.callers),
    (c) => c.json(readToolSettings(deps, getAgent(deps.db, { kind: 'operator' }, c.var.agentId))),
  )

  app.post(
    '/v1/turn-limits',
    endpoint({
      summary: 'Reports that a limit ended a turn',
      tag: 'Agent tools',
      responses: { 204: null },
      errors: ['not_found', 'limited'],
    }),
    requireAgent(deps.callers),
    limitRate(() => deps.requestsPerMinute.backend, 'Too many requests, please slow down.', whoAsks),
    validate('json', EarlyEnd),
    async (c) => {
      await notifyEarlyEnd(deps, c.var.agentId, c.req.valid('json'))
      return c.body(null, 204)
    },
  )

  return app
}
