import { Hono } from 'hono'
import type { WebEnv } from '../../http/env.ts'
import type { Guards } from '../../http/session.ts'
import { validate } from '../../http/validate.ts'
import { showConfig } from './config.ts'
import { type ConfigDeps, changeConfig } from './config-change.ts'
import { getAgent } from './list.ts'
import { listAgentMessages } from './messages.ts'
import { AgentMessagesQuery, ConfigRequest } from './schemas.ts'

/** Settings and messages of one's own agents (Spec 4.4). Secrets go in and never come out. */
export function agentConfigWeb(deps: ConfigDeps & { guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get('/api/agents/:id/config', signedIn, (c) => {
    const agent = getAgent(deps.db, { kind: 'user', user: c.var.user }, c.req.param('id'))
    return c.json({ config: showConfig(deps.sealer, agent), status: 'ok' })
  })

  app.put('/api/agents/:id/config', signedIn, validate('json', ConfigRequest), async (c) => {
    const agent = await changeConfig(deps, { kind: 'user', user: c.var.user }, c.req.param('id'), c.req.valid('json'))
    return c.json({ config: showConfig(deps.sealer, agent), status: 'updated' })
  })

  app.get('/api/agents/:id/messages', signedIn, validate('query', AgentMessagesQuery), (c) =>
    c.json(listAgentMessages(deps.db, { kind: 'user', user: c.var.user }, c.req.param('id'), c.req.valid('query'))),
  )

  return app
}
