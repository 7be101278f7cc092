import { Webhook as Signer } from 'standardwebhooks'
import { type Sent, send } from '../egress/outbound.ts'

/**
 * `secret` is asked for only when there is an address: `whsec_` and base64, as Standard Webhooks writes it, or any other
 * text, whose bytes are the key.
 */
export type WebhookSettings = { url: string | undefined; secret: () => string }

/** One message; receivers tell repeats by `id`. */
export type WebhookMessage = { id: string; body: string }

/** Posts JSON to one address, signed as Standard Webhooks 1.0 says. */
export type Webhook = { send(message: WebhookMessage, at: Date, signal: AbortSignal): Promise<Sent> }

const SECRET_PREFIX = 'whsec_'

/** Null without an address. */
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
