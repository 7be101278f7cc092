import { type Context, Hono } from 'hono'
import { EarlyEnd } from '../../../core/agents/turn-limits.ts'
import { endpoint } from '../../../http/endpoint.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate } from '../../../http/validate.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { Catalogue } from '../../ai/catalogue/catalogue.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import type { Base } from '../../base.ts'
import { OwnTools } from './schemas.ts'
import { notifyEarlyEnd, readToolSettings } from './settings.ts'

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
