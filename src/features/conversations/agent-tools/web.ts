import { Hono, type MiddlewareHandler } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { validate } from '../../../http/validate.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { Base } from '../../base.ts'
import { AgentTools, ToolsRequest } from './schemas.ts'
import { changeTools, showTools } from './settings.ts'

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
