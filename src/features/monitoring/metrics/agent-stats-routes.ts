import { Hono, type MiddlewareHandler } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { validate } from '../../../http/validate.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { getAgentHistory } from './agent-history.ts'
import { findAgentStats, type StatsDeps } from './agent-stats.ts'
import { AgentHistory, AgentHistoryQuery, AgentStatsResponse } from './schemas.ts'

/** What an agent uses and has done, the same on both faces (Interface 4.4). */
export function agentStatsRoutes(deps: StatsDeps, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/stats',
    endpoint({
      summary: 'Returns the current resource usage of an agent',
      tag: 'Metrics',
      responses: { 200: AgentStatsResponse },
      errors: ['not_found'],
    }),
    guard,
    async (c) => {
      const agent = getAgent(deps.db, c.var.principal, c.req.param('id'))
      return c.json({ stats: await findAgentStats(deps, agent), status: 'ok' })
    },
  )

  app.get(
    '/api/agents/:id/metrics',
    endpoint({
      summary: 'Returns metrics of an agent over time',
      tag: 'Metrics',
      responses: { 200: AgentHistory },
      errors: ['not_found'],
    }),
    guard,
    validate('query', AgentHistoryQuery),
    (c) => {
      const agent = getAgent(deps.db, c.var.principal, c.req.param('id'))
      return c.json(getAgentHistory(deps, agent, c.req.valid('query').range))
    },
  )

  return app
}
