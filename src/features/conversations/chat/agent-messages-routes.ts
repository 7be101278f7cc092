import { Hono, type MiddlewareHandler } from 'hono'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { validate } from '../../../http/validate.ts'
import { AgentMessages, AgentMessagesQuery } from '../../agents/registry/schemas.ts'
import { listAgentMessages } from './history.ts'

/** Routes for an agent's messages, for the web API and the backend API. */
export function agentMessagesRoutes(deps: { db: Db }, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/messages',
    endpoint({
      summary: 'Lists messages of an agent, page by page',
      tag: 'Chat',
      responses: { 200: AgentMessages },
      errors: ['not_found'],
    }),
    guard,
    validate('query', AgentMessagesQuery),
    (c) => c.json(listAgentMessages(deps.db, c.var.principal, c.req.param('id'), c.req.valid('query'))),
  )

  return app
}
