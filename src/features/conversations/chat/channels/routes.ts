import { type Context, Hono } from 'hono'
import type { Db } from '../../../../db/open.ts'
import { endpoint } from '../../../../http/endpoint.ts'
import type { WebEnv } from '../../../../http/env.ts'
import { limitRate } from '../../../../http/rate-limit.ts'
import type { Guards } from '../../../../http/sessions/session.ts'
import { validate } from '../../../../http/validate.ts'
import type { StorageQuota } from '../../../agents/storage/quota.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../../ai/gateway/callers.ts'
import type { Base } from '../../../base.ts'
import { ConversationList, ConversationMessages } from '../schemas.ts'
import { listConversations, readConversation } from './conversations.ts'
import { storeReport } from './record.ts'
import { ChannelReport, ChannelReported } from './schemas.ts'

/** Routes for conversations outside of the web. */
export function conversationsWeb(deps: { db: Db; guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/agents/:id/conversations',
    endpoint({
      summary: 'Lists the conversations of an agent outside the web',
      tag: 'Channels',
      responses: { 200: ConversationList },
      errors: ['not_found'],
    }),
    signedIn,
    (c) => c.json(listConversations(deps.db, { kind: 'user', user: c.var.user }, c.req.param('id'))),
  )

  app.get(
    '/api/agents/:id/conversations/:session',
    endpoint({
      summary: 'Returns a conversation outside the web',
      tag: 'Channels',
      responses: { 200: ConversationMessages },
      errors: ['not_found'],
    }),
    signedIn,
    (c) => c.json(readConversation(deps.db, { kind: 'user', user: c.var.user }, c.req.param())),
  )

  return app
}

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
