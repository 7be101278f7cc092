import { Hono, type MiddlewareHandler } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { type LeashDeps, showLeash } from './leash.ts'
import { Leash } from './schemas.ts'

/** The summary of what an agent may do. */
export function leashWeb(deps: LeashDeps, owner: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/leash',
    endpoint({
      summary: 'Returns what an agent may do without asking',
      tag: 'Limits',
      responses: { 200: Leash },
      errors: ['not_found'],
    }),
    owner,
    (c) => c.json(showLeash(deps, getAgent(deps.db, c.var.principal, c.req.param('id')))),
  )

  return app
}
