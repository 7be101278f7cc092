import { type Sent, send } from '../egress/outbound.ts'
import { createTelegram } from './telegram.ts'
import { createWebhook } from './webhook.ts'

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
