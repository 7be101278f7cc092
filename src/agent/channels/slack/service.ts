import { WebAPIPlatformError, type WebClient } from '@slack/web-api'
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import type { Place, Service } from '../channel.ts'
import { downloadFile } from '../download.ts'

/** Slack takes 4,000 in an edit, and `&`, `<` and `>` are written as up to five. */
const MAX_CHARS = 2000
/** It takes fifty edits a minute. */
const EDIT_EVERY_MS = 1200
const MAX_FILE_BYTES = 25 * 1024 * 1024
/** What may be otherwise in a while: Slack is in trouble, or the token is exchanged. */
const PASSING: ReadonlySet<string> = new Set([
  'ratelimited',
  'fatal_error',
  'internal_error',
  'service_unavailable',
  'request_timeout',
  'invalid_auth',
  'token_revoked',
  'token_expired',
  'account_inactive',
])
const Written = z.object({ ts: z.string() })
const Opened = z.object({ channel: z.object({ id: z.string() }) })

export type SlackServiceSettings = { token: string; apiUrl: string; editEveryMs: number }

/** What a conversation needs, by Slack's Web API. */
export function createSlackService(settings: SlackServiceSettings, web: WebClient, plainFetch: typeof fetch): Service {
  return {
    maxChars: MAX_CHARS,
    editEveryMs: () => Math.max(settings.editEveryMs, EDIT_EVERY_MS),
    async write(place, text) {
      const sent = await web.chat.postMessage({
        channel: place.chatId,
        text: toSlackText(text),
        unfurl_links: false,
        unfurl_media: false,
        ...toThread(place),
      })
      return Written.parse(sent).ts
    },
    async edit({ chatId }, messageId, text) {
      try {
        await web.chat.update({ channel: chatId, ts: messageId, text: toSlackText(text), blocks: [] })
      } catch (error) {
        // Somebody has deleted it.
        if (codeOf(error) !== 'message_not_found') throw error
      }
    },
    // `toSlackText` sees to it.
    toLiteral: (text) => text,
    async writeChoices(place, text, choices) {
      const buttons = choices.map(({ label, value }) => ({
        type: 'button' as const,
        text: { type: 'plain_text' as const, text: label },
        action_id: value,
        value,
      }))
      const sent = await web.chat.postMessage({
        channel: place.chatId,
        // What notices show, and what the message says once it is decided.
        text: toSlackText(text),
        blocks: [
          { type: 'section', text: { type: 'plain_text', text } },
          { type: 'actions', elements: buttons },
        ],
        ...toThread(place),
      })
      return Written.parse(sent).ts
    },
    async findDirect(personId) {
      const { channel } = Opened.parse(await web.conversations.open({ users: personId }))
      return { chatId: channel.id, threadId: null, isDirect: true }
    },
    // Slack lets only assistants show that they are busy.
    showTyping: async () => {},
    async fetchFile({ id: url }) {
      if (!isOfSlack(url, settings.apiUrl)) throw new AppError('not_found', 'It is kept elsewhere than at Slack')
      const headers = { authorization: `Bearer ${settings.token}` }
      return downloadFile({ service: 'Slack', url, maxBytes: MAX_FILE_BYTES, headers }, plainFetch)
    },
    isFinal: (error) => {
      const code = codeOf(error)
      return code !== undefined && !PASSING.has(code)
    },
  }
}

/** What Slack itself says is wrong; undefined for what it has not answered. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof WebAPIPlatformError ? error.data.error : undefined
}

function toThread({ threadId }: Place) {
  return threadId === null ? {} : { thread_ts: threadId }
}

/** Nothing in it calls anybody, and no character is taken for a mark of Slack's. */
function toSlackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** The token goes to nobody else. */
function isOfSlack(url: string, apiUrl: string): boolean {
  const { protocol, hostname, origin } = new URL(url)
  return origin === new URL(apiUrl).origin || (protocol === 'https:' && /(^|\.)slack\.com$/.test(hostname))
}
