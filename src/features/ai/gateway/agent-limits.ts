import { type Context, Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import type { ReachDeps } from '../breakers/reach-limit.ts'
import { UsedLimits, UseLimitsRequest } from '../breakers/schemas.ts'
import { takeLimits } from '../breakers/take-limits.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from './callers.ts'

/** The route through which an agent counts what it is about to do. */
export function limitsBackend(
  deps: Base & ReachDeps & { callers: CallerFinder; requestsPerMinute: { backend: number } },
) {
  const app = new Hono<AgentCallerEnv>()
  const whoAsks = (c: Context) => String(c.get('agentId'))

  app.post(
    '/v1/limits/use',
    endpoint({
      summary: 'Counts a message, tool call or written file',
      tag: 'Limits',
      responses: { 200: UsedLimits },
      errors: ['limited'],
    }),
    requireAgent(deps.callers),
    limitRate(() => deps.requestsPerMinute.backend, 'Too many requests, please slow down.', whoAsks),
    validate('json', UseLimitsRequest),
    async (c) => {
      const reached = await takeLimits(deps, c.var.agentId, c.req.valid('json').kinds)
      return c.json({
        allowed: reached === null,
        message: reached?.message ?? null,
        approvalId: reached?.approvalId ?? null,
      })
    },
  )

  return app
}
