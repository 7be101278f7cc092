import { Webhook as Signer } from 'standardwebhooks'
import { type Sent, send } from '../egress/outbound.ts'

/** A notification target with the credentials to write to it. */
export type Recipient =
  | { kind: 'telegram'; botToken: string; chatId: string }
  | { kind: 'discord'; url: string }
  | { kind: 'ntfy'; server: string; topic: string; token?: string | undefined }
  | { kind: 'webhook'; url: string; secret: string }

/** `id` identifies duplicates; `body` is the full machine-readable message. */
export type Message = { id: string; title: string; text: string; isUrgent: boolean; body: string; at: Date }

/** Sends to one recipient and returns the outcome. @throws the signal's reason when aborted. */
export type Messenger = (message: Message, signal: AbortSignal) => Promise<Sent>

const DISCORD_CHARACTERS = 2000
const NTFY_CHARACTERS = 4000
/** ntfy's maximum and default priorities. */
const PRIORITY = { urgent: 5, usual: 3 }

/** Opens a receiver of notices. `fetch` requests operator-configured URLs, `fetchOutside` user-supplied ones. */
export function createMessenger(
  recipient: Recipient,
  deps: { fetch: typeof fetch; telegramApiUrl: string; fetchOutside: typeof fetch },
): Messenger {
  const { fetchOutside } = deps
  const post = (
    url: string,
    body: object,
    options: { signal: AbortSignal; reasonIn: string; headers?: Record<string, string> },
  ) => send(fetchOutside, url, { headers: {}, ...options, body: JSON.stringify(body) })
  switch (recipient.kind) {
    case 'telegram': {
      const bot = createTelegram({ ...recipient, apiUrl: deps.telegramApiUrl }, deps)
      return async (message, signal) => bot?.send(toText(message), signal) ?? UNREACHABLE
    }
    case 'discord':
      // Mentions in the text are not expanded, so a message cannot notify other users.
      return (message, signal) => {
        const content = toText(message).slice(0, DISCORD_CHARACTERS)
        return post(recipient.url, { content, allowed_mentions: { parse: [] } }, { signal, reasonIn: 'message' })
      }
    case 'ntfy': {
      const headers = recipient.token ? { authorization: `Bearer ${recipient.token}` } : {}
      return ({ title, text, isUrgent }, signal) => {
        const priority = isUrgent ? PRIORITY.urgent : PRIORITY.usual
        const body = { topic: recipient.topic, title, message: text.slice(0, NTFY_CHARACTERS), priority }
        return post(recipient.server, body, { signal, reasonIn: 'error', headers })
      }
    }
    case 'webhook': {
      const { url, secret } = recipient
      const webhook = createWebhook({ url, secret: () => secret }, { fetch: fetchOutside })
      return async ({ id, body, at }, signal) => webhook?.send({ id, body }, at, signal) ?? UNREACHABLE
    }
  }
}

const UNREACHABLE: Sent = { status: null, error: 'could not be reached' }

function toText({ title, text }: Message): string {
  return `${title}\n${text}`
}

type TelegramSettings = { apiUrl: string; botToken: string | undefined; chatId: string | undefined }

/** Sends plain text to one chat (Bot API, sendMessage). */
export type Telegram = { send(text: string, signal: AbortSignal): Promise<Sent> }

/** Telegram's limit for one message. */
const MAX_CHARACTERS = 4096

/** Returns null without a bot or a chat. */
export function createTelegram(settings: TelegramSettings, deps: { fetch: typeof fetch }): Telegram | null {
  const { apiUrl, botToken, chatId } = settings
  if (!botToken || !chatId) return null
  const url = `${apiUrl}/bot${botToken}/sendMessage`
  return {
    send: (text, signal) =>
      send(deps.fetch, url, {
        headers: {},
        body: JSON.stringify({ chat_id: chatId, text: text.slice(0, MAX_CHARACTERS) }),
        signal,
        reasonIn: 'description',
      }),
  }
}

/**
 * `secret` is read only when `url` is set: `whsec_` plus base64 (Standard Webhooks), or any other text, whose bytes are
 * the key.
 */
type WebhookSettings = { url: string | undefined; secret: () => string }

/** One message; receivers deduplicate by `id`. */
type WebhookMessage = { id: string; body: string }

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
