import { Hono, type MiddlewareHandler } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { validate } from '../../../http/validate.ts'
import { getAgent } from '../registry/agents.ts'
import { showConfig } from '../registry/config.ts'
import { ConfigRequest, ConfigResponse } from '../registry/schemas.ts'
import { type ConfigDeps, changeConfig } from './update.ts'

/** Routes for agent settings, shared by the web and the backend API. Secrets are write-only. */
export function agentConfigRoutes(deps: ConfigDeps, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/config',
    endpoint({
      summary: 'Returns the settings of an agent, secrets masked',
      tag: 'Agents',
      responses: { 200: ConfigResponse },
      errors: ['not_found'],
    }),
    guard,
    (c) => {
      const agent = getAgent(deps.db, c.var.principal, c.req.param('id'))
      return c.json({ config: showConfig(deps.sealer, agent), status: 'ok' })
    },
  )

  app.put(
    '/api/agents/:id/config',
    endpoint({
      summary: 'Changes the settings of an agent',
      tag: 'Agents',
      responses: { 200: ConfigResponse },
      errors: ['payment_required', 'not_found', 'conflict', 'upstream_failed', 'unavailable'],
      scope: 'agents',
    }),
    guard,
    validate('json', ConfigRequest),
    async (c) => {
      const agent = await changeConfig(deps, c.var.principal, c.req.param('id'), c.req.valid('json'))
      return c.json({ config: showConfig(deps.sealer, agent), status: 'updated' })
    },
  )

  return app
}
