import { createHmac } from 'node:crypto'
import { Hono } from 'hono'
import { Webhook } from 'standardwebhooks'
import { AppError, StartupError } from '../../../core/errors.ts'
import { isSameSecret } from '../../../core/secrets.ts'
import { MAX_LARGE_BODY_BYTES, receiveBytes } from '../../../http/bodies/body.ts'
import { endpoint, Received } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { receiveMailEvent, receiveVideoEvent, type WebhookDeps } from './receive.ts'
import { MailReceived } from './schemas.ts'

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

const TOLERANCE_SECONDS = 300
const MAX_SIGNATURES = 10

/**
 * Checks `mux-signature: t=<unix s>,v1=<hex>`, an HMAC-SHA256 over `<t>.<body>`, at most five minutes old.
 * @throws AppError `unauthenticated` without the header, `forbidden` for an invalid one.
 */
function verifyVideoSignature(
  header: string | undefined,
  body: Uint8Array,
  { secret, now }: { secret: string; now: Date },
): void {
  if (!header) throw new AppError('unauthenticated', 'Unauthorized')
  const parts = header.split(',', MAX_SIGNATURES).map((part) => part.trim().split('=', 2))
  const valuesOf = (name: string) => parts.flatMap(([key, value]) => (key === name && value ? [value] : []))
  const [time = ''] = valuesOf('t')
  const isRecent = /^\d{1,12}$/.test(time) && Math.abs(now.getTime() / 1000 - Number(time)) <= TOLERANCE_SECONDS
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest('hex')
  if (!isRecent || !valuesOf('v1').some((signature) => isSameSecret(signature, expected))) {
    throw new AppError('forbidden', 'Invalid signature')
  }
}

/** Checks a mail service's signature and returns the id of the event. */
type VerifyMailSignature = (header: (name: string) => string | undefined, body: Uint8Array) => string

/**
 * Creates a verifier for Standard Webhooks, also with Svix's header names.
 * @throws StartupError for a secret that is not base64, with or without `whsec_`. The verifier throws AppError
 * `unauthenticated`.
 */
export function createMailVerifier(secret: string): VerifyMailSignature {
  const webhook = openWebhook(secret)
  return (header, body) => {
    const [id, timestamp, signature] = ['id', 'timestamp', 'signature'].map(
      (name) => header(`svix-${name}`) ?? header(`webhook-${name}`),
    )
    if (!id || !timestamp || !signature) throw new AppError('unauthenticated', 'Missing signature headers')
    const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature }
    try {
      webhook.verify(Buffer.from(body), headers, { jsonParse: false })
      return id
    } catch (error) {
      throw new AppError('unauthenticated', 'Invalid signature', {}, { cause: error })
    }
  }
}

function openWebhook(secret: string): Webhook {
  try {
    return new Webhook(secret)
  } catch (error) {
    throw new StartupError('WEBHOOK_EMAIL_SECRET: must be base64, with or without whsec_ before it', { cause: error })
  }
}
