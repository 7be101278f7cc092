import { Hono, type MiddlewareHandler } from 'hono'
import type { BackendEnv } from '../../http/env.ts'
import { validate } from '../../http/validate.ts'
import { showConfig } from './config.ts'
import { type ConfigDeps, changeConfig } from './config-change.ts'
import { getAgent } from './list.ts'
import { listAgentMessages } from './messages.ts'
import { AgentMessagesQuery, ConfigRequest } from './schemas.ts'

/** Settings and messages of agents, behind the internal key (Spec 4.4). */
export function agentConfigBackend(deps: ConfigDeps & { internalKey: MiddlewareHandler<BackendEnv> }) {
  const app = new Hono<BackendEnv>()
  const { internalKey } = deps

  app.get('/api/agents/:id/config', internalKey, (c) => {
    const agent = getAgent(deps.db, c.var.principal, c.req.param('id'))
    return c.json({ config: showConfig(deps.sealer, agent), status: 'ok' })
  })

  app.put('/api/agents/:id/config', internalKey, validate('json', ConfigRequest), async (c) => {
    const agent = await changeConfig(deps, c.var.principal, c.req.param('id'), c.req.valid('json'))
    return c.json({ config: showConfig(deps.sealer, agent), status: 'updated' })
  })

  app.get('/api/agents/:id/messages', internalKey, validate('query', AgentMessagesQuery), (c) =>
    c.json(listAgentMessages(deps.db, c.var.principal, c.req.param('id'), c.req.valid('query'))),
  )

  return app
}
