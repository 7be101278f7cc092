import { type Context, Hono } from 'hono'
import { endpoint } from '../../../../http/endpoint.ts'
import { limitRate } from '../../../../http/rate-limit.ts'
import { validate } from '../../../../http/validate.ts'
import type { StorageQuota } from '../../../agents/storage/quota.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../../ai/gateway/callers.ts'
import type { Base } from '../../../base.ts'
import { storeReport } from './record.ts'
import { ChannelReport, ChannelReported } from './schemas.ts'

/** A reply of 400,000 non-ASCII characters exceeds the usual 1 MB. */
const MAX_BODY_BYTES = 4 * 1024 * 1024

/** Routes through which an agent reports its channel history. */
export function channelReportsBackend(
  deps: Base & { storage: Pick<StorageQuota, 'within'>; callers: CallerFinder; requestsPerMinute: { backend: number } },
) {
  const app = new Hono<AgentCallerEnv>()
  const whoAsks = (c: Context) => String(c.get('agentId'))

  app.post(
    '/v1/channel-messages',
    endpoint({
      summary: 'Reports messages of messengers',
      tag: 'Agent tools',
      responses: { 200: ChannelReported },
      errors: ['not_found', 'limited'],
      maxBodyBytes: MAX_BODY_BYTES,
    }),
    requireAgent(deps.callers),
    limitRate(() => deps.requestsPerMinute.backend, 'Too many requests, please slow down.', whoAsks),
    validate('json', ChannelReport),
    async (c) => c.json({ stored: await storeReport(deps, c.var.agentId, c.req.valid('json')) }),
  )

  return app
}
