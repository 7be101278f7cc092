import { Hono, type MiddlewareHandler } from 'hono'
import type { Db } from '../../../db/open.ts'
import { answers } from '../../../http/answers.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { validate } from '../../../http/validate.ts'
import { AgentMessages, AgentMessagesQuery } from '../../agents/registry/schemas.ts'
import { listAgentMessages } from './agent-messages.ts'

/** What was said to an agent and by it, the same on both faces (Interface 4.4). */
export function agentMessagesRoutes(deps: { db: Db }, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/messages',
    answers({ 200: AgentMessages }, 'not_found'),
    guard,
    validate('query', AgentMessagesQuery),
    (c) => c.json(listAgentMessages(deps.db, c.var.principal, c.req.param('id'), c.req.valid('query'))),
  )

  return app
}
