import { type Sent, send } from '../egress/outbound.ts'

export type TelegramSettings = { apiUrl: string; botToken: string | undefined; chatId: string | undefined }

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
