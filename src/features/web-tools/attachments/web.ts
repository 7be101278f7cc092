import { Hono } from 'hono'
import { MAX_LARGE_BODY_BYTES, receiveBytes } from '../../../http/bodies/body.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { toChatAttachment } from '../../conversations/chat/attachments.ts'
import { AttachmentQuery, OneAttachment } from '../../conversations/chat/schemas.ts'
import { findAddressee } from '../../conversations/chat/send.ts'
import { type AttachDeps, attachFile } from './attach.ts'

/** Serves uploads of files that are attached to a message. */
export function attachmentsWeb(deps: AttachDeps & { guards: Guards; requestsPerMinute: { chat: number } }) {
  const app = new Hono<WebEnv>()
  const limited = limitRate(() => deps.requestsPerMinute.chat, 'Too many requests, please slow down.')

  app.post(
    '/api/chat/attachments',
    endpoint({
      summary: 'Uploads a file for a message',
      tag: 'Chat',
      responses: { 201: OneAttachment },
      errors: ['not_found', 'conflict', 'limited', 'unavailable'],
      scope: 'agents',
      bodyType: 'application/octet-stream',
      maxBodyBytes: MAX_LARGE_BODY_BYTES,
    }),
    limited,
    deps.guards.signedIn,
    validate('query', AttachmentQuery),
    async (c) => {
      const { name, agentId } = c.req.valid('query')
      const agent = findAddressee(deps.db, c.var.user, agentId)
      const row = await attachFile(deps, c.var.user, agent, { name, bytes: await receiveBytes(c) })
      return c.json({ attachment: toChatAttachment(row) }, 201)
    },
  )

  return app
}
