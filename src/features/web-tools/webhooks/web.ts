import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { MAX_LARGE_BODY_BYTES, receiveBytes } from '../../../http/bodies/body.ts'
import { endpoint, Received } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { receiveMailEvent, receiveVideoEvent, type WebhookDeps } from './receive.ts'
import { MailReceived } from './schemas.ts'
import { createMailVerifier, verifyVideoSignature } from './verify.ts'

/** Receives signed events of the video and mail services. */
export function webhooksWeb(
  deps: WebhookDeps & { webhooks: { videoSecret: string | undefined; emailSecret: string | undefined } },
) {
  const app = new Hono<WebEnv>()
  const { videoSecret, emailSecret } = deps.webhooks
  const verifyMail = emailSecret ? createMailVerifier(emailSecret) : null

  app.post(
    '/api/webhooks/video',
    endpoint({
      summary: 'Receives an event of the video service',
      tag: 'Media',
      responses: { 200: Received },
      errors: ['invalid', 'unauthenticated', 'unavailable'],
    }),
    async (c) => {
      if (!videoSecret) throw notConfigured('WEBHOOK_VIDEO_SECRET')
      const body = await receiveBytes(c)
      verifyVideoSignature(c.req.header('mux-signature'), body, { secret: videoSecret, now: deps.clock.now() })
      await receiveVideoEvent(deps, body)
      return c.json({ received: true })
    },
  )

  app.post(
    '/api/webhooks/email',
    endpoint({
      summary: 'Receives an email for an agent',
      tag: 'Media',
      maxBodyBytes: MAX_LARGE_BODY_BYTES,
      responses: { 200: MailReceived },
      errors: ['invalid', 'unauthenticated', 'unavailable'],
    }),
    async (c) => {
      if (!verifyMail) throw notConfigured('WEBHOOK_EMAIL_SECRET')
      const body = await receiveBytes(c)
      const id = verifyMail((name) => c.req.header(name), body)
      return c.json({ received: true, ...(await receiveMailEvent(deps, id, body)) })
    },
  )

  return app
}

function notConfigured(name: string): AppError {
  return new AppError('unavailable', `This webhook is not configured: set ${name}`, { code: 'NOT_CONFIGURED' })
}
