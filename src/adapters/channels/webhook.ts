import { Webhook as Signer } from 'standardwebhooks'
import { type Sent, send } from '../egress/outbound.ts'

/**
 * `secret` is read only when `url` is set: `whsec_` plus base64 (Standard Webhooks), or any other text, whose bytes are
 * the key.
 */
export type WebhookSettings = { url: string | undefined; secret: () => string }

/** One message; receivers deduplicate by `id`. */
export type WebhookMessage = { id: string; body: string }

/** Posts JSON to one URL, signed according to Standard Webhooks 1.0. */
export type Webhook = { send(message: WebhookMessage, at: Date, signal: AbortSignal): Promise<Sent> }

const SECRET_PREFIX = 'whsec_'

/** Returns null without a URL. */
export function createWebhook({ url, secret }: WebhookSettings, deps: { fetch: typeof fetch }): Webhook | null {
  if (!url) return null
  const signer = new Signer(toKey(secret()), { format: 'raw' })
  return {
    send({ id, body }, at, signal) {
      const timestamp = String(Math.floor(at.getTime() / 1000))
      const signature = signer.sign(id, at, body)
      const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature }
      return send(deps.fetch, url, { headers, body, signal })
    },
  }
}

function toKey(secret: string): Buffer {
  if (!secret.startsWith(SECRET_PREFIX)) return Buffer.from(secret)
  return Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
}
