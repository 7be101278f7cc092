import { WebAPIPlatformError, type WebClient } from '@slack/web-api'
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import type { ChatAddress, Incoming, Pressed, Service } from '../channel.ts'
import { downloadAttachment } from '../saved-files.ts'

/** An edit has at most 4,000 characters, and escaping makes `&`, `<` and `>` up to five times as long. */
const MAX_CHARS = 2000
/** Slack allows fifty edits a minute. */
const EDIT_EVERY_MS = 1200
const MAX_FILE_BYTES = 25 * 1024 * 1024
/** Errors that may disappear: Slack is in trouble, or the token is being replaced. */
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
        // The message was deleted.
        if (codeOf(error) !== 'message_not_found') throw error
      }
    },
    // `toSlackText` escapes the text when it is sent.
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
        // Shown in notifications and in the decided message.
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
    // Slack shows a typing indicator only for assistants.
    showTyping: async () => {},
    async fetchFile({ id: url }) {
      if (!isOfSlack(url, settings.apiUrl)) throw new AppError('not_found', 'It is kept elsewhere than at Slack')
      const headers = { authorization: `Bearer ${settings.token}` }
      return downloadAttachment({ service: 'Slack', url, maxBytes: MAX_FILE_BYTES, headers }, plainFetch)
    },
    isFinal: (error) => {
      const code = codeOf(error)
      return code !== undefined && !PASSING.has(code)
    },
  }
}

/** Returns Slack's error code; undefined without a response. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof WebAPIPlatformError ? error.data.error : undefined
}

function toThread({ threadId }: ChatAddress) {
  return threadId === null ? {} : { thread_ts: threadId }
}

/** Escapes text, so that it contains no mention and no markup. */
function toSlackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Only Slack may receive the token. */
function isOfSlack(url: string, apiUrl: string): boolean {
  const { protocol, hostname, origin } = new URL(url)
  return origin === new URL(apiUrl).origin || (protocol === 'https:' && /(^|\.)slack\.com$/.test(hostname))
}

const MessageEvent = z.object({
  type: z.enum(['message', 'app_mention']),
  subtype: z.string().optional(),
  channel: z.string(),
  channel_type: z.string().optional(),
  user: z.string().optional(),
  bot_id: z.string().optional(),
  text: z.string().default(''),
  ts: z.string(),
  thread_ts: z.string().optional(),
  files: z.array(z.object({ name: z.string().nullish(), url_private_download: z.string().optional() })).optional(),
})
/** The payload of an `events_api` envelope. */
export const EventPayload = z.object({ event: MessageEvent })

/** The payload of an `interactive` envelope: a pressed button. */
export const InteractivePayload = z.object({
  type: z.literal('block_actions'),
  user: z.object({ id: z.string() }),
  channel: z.object({ id: z.string() }),
  message: z.object({ ts: z.string(), text: z.string().default(''), thread_ts: z.string().optional() }),
  actions: z.array(z.object({ type: z.string(), value: z.string().optional() })).min(1),
})

/** Returns null unless the action is a button. Buttons are sent only to direct chats. */
export function toPressed({ user, channel, message, actions }: z.infer<typeof InteractivePayload>): Pressed | null {
  const value = actions.find(({ type }) => type === 'button')?.value
  if (value === undefined) return null
  const place = { chatId: channel.id, threadId: message.thread_ts ?? null, isDirect: true }
  return { personId: user.id, value, place, messageId: message.ts, text: toPlainText(message.text) }
}

/** Subtypes that people write: plain text, files, and a thread reply also sent to the channel. */
const WRITTEN: ReadonlySet<string | undefined> = new Set([undefined, 'file_share', 'thread_broadcast'])

/**
 * Converts a Slack event; null for a message that no person wrote to the agent. Mentions arrive as separate events, so
 * other channel messages are ignored.
 */
export async function toSlackIncoming(
  event: z.infer<typeof MessageEvent>,
  ownId: string,
  findName: (userId: string) => Promise<string>,
): Promise<Incoming | null> {
  const { type, subtype, channel, user, ts, thread_ts: thread } = event
  const isDirect = event.channel_type === 'im'
  if (user === undefined || user === ownId || event.bot_id !== undefined || !WRITTEN.has(subtype)) return null
  if (!isDirect && type !== 'app_mention') return null
  return {
    id: `slack-${channel}-${ts}`,
    messageId: ts,
    // Answers in a channel go to the thread of their question.
    place: { chatId: channel, threadId: thread ?? (isDirect ? null : ts), isDirect },
    person: { id: user, name: await findName(user) },
    text: await toReadableText(event.text, ownId, findName),
    files: (event.files ?? []).flatMap(({ name, url_private_download: url }) =>
      url === undefined ? [] : [{ id: url, name: name ?? 'file' }],
    ),
  }
}

const OUR_MENTION = /^\s*<@(\w+)(?:\|[^<>]*)?>/
const MENTION = /<@(\w+)(?:\|[^<>]*)?>/g

/** Removes the leading mention of the bot and Slack's markup, and replaces other mentions by names. */
async function toReadableText(text: string, ownId: string, findName: (id: string) => Promise<string>): Promise<string> {
  const own = OUR_MENTION.exec(text)
  const rest = own?.[1] === ownId ? text.slice(own[0].length) : text
  const ids = [...new Set([...rest.matchAll(MENTION)].map(([, id = '']) => id))]
  const names = new Map(await Promise.all(ids.map(async (id) => [id, await findName(id)] as const)))
  const readable = rest
    .replace(MENTION, (_mention, id: string) => `@${names.get(id) ?? id}`)
    .replace(/<#\w+\|([^<>]*)>/g, '#$1')
    .replace(
      /<(?:https?|mailto):[^<>|]*\|([^<>]*)>/g,
      (link, label: string) => `${label} (${link.slice(1, link.indexOf('|'))})`,
    )
    .replace(/<((?:https?|mailto):[^<>]*)>/g, '$1')
  return toPlainText(readable).trim()
}

function toPlainText(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
