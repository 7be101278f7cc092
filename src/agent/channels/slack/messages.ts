import { z } from 'zod'
import type { Incoming, Pressed } from '../channel.ts'

/** A message as Slack's Events API tells it, as far as it matters here. */
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
/** The payload of an envelope that holds an event. */
export const EventPayload = z.object({ event: MessageEvent })

/** The payload of an envelope of the type `interactive`: somebody has pressed a button. */
export const InteractivePayload = z.object({
  type: z.literal('block_actions'),
  user: z.object({ id: z.string() }),
  channel: z.object({ id: z.string() }),
  message: z.object({ ts: z.string(), text: z.string().default(''), thread_ts: z.string().optional() }),
  actions: z.array(z.object({ type: z.string(), value: z.string().optional() })).min(1),
})

/** Null for what is no button. Questions to owners stand in direct chats. */
export function toPressed({ user, channel, message, actions }: z.infer<typeof InteractivePayload>): Pressed | null {
  const value = actions.find(({ type }) => type === 'button')?.value
  if (value === undefined) return null
  const place = { chatId: channel.id, threadId: message.thread_ts ?? null, isDirect: true }
  return { personId: user.id, value, place, messageId: message.ts, text: toPlainText(message.text) }
}

/** Those that a person writes: with nothing but text, with files, or to a thread and its channel at once. */
const WRITTEN: ReadonlySet<string | undefined> = new Set([undefined, 'file_share', 'thread_broadcast'])

/**
 * A message of Slack as every channel has it; null for one that no person wrote to the agent. Mentions come as events of
 * their own, so what else is said in channels is not looked at.
 */
export async function toIncoming(
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
    // In a channel each answer stands in the thread of its question.
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

/** Without the mention that it begins with, with names where others are mentioned, and without Slack's marks. */
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
