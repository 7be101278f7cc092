import { join } from 'node:path'
import { z } from 'zod'
import { openStateFile } from '../state/files.ts'
import { ChatAddress, Incoming } from './channel.ts'

/** A message that waits for its answer; `sentIds` are the messages that contain the answer so far. */
const WaitingMessage = Incoming.extend({
  sessionKey: z.string(),
  sentIds: z.array(z.string()),
  /** ISO 8601. */
  receivedAt: z.string().default(() => new Date().toISOString()),
})
export type WaitingMessage = z.infer<typeof WaitingMessage>

const InboxState = z.object({
  waiting: z.array(WaitingMessage),
  /** Ids of the most recently answered messages. */
  answered: z.array(z.string()),
  /** Suffix of the current session by chat, set by `/new`. */
  beginnings: z.record(z.string(), z.string()),
  /** Groups that have addressed the agent, newest last. */
  groups: z.array(ChatAddress).default([]),
})

/** Null for a known message; `full` when too many wait. */
type Added = WaitingMessage | 'full' | null

const MAX_WAITING = 100
const MAX_GROUPS = 200
/** Services redeliver unacknowledged messages, about a hundred at most. */
const KEPT_ANSWERED = 500

/** Messages on disk from their arrival to the end of the answer. */
export type MessageInbox = {
  add(message: Incoming, receivedAt: string): Promise<Added>
  list(): readonly WaitingMessage[]
  listGroups(): readonly ChatAddress[]
  keepSent(id: string, sentIds: readonly string[]): Promise<void>
  finish(id: string): Promise<void>
  /** Returns the chat's current session. */
  sessionOf(place: ChatAddress): string
  beginAnew(place: ChatAddress, messageId: string): Promise<void>
}

export async function openInbox(folder: string, channel: string): Promise<MessageInbox> {
  const empty = { waiting: [], answered: [], beginnings: {}, groups: [] }
  const file = await openStateFile(join(folder, `${channel}-inbox.json`), InboxState, empty)
  const sessionOf = (place: ChatAddress) => {
    const chat = toChat(channel, place)
    const beginning = file.read().beginnings[chat]
    return beginning === undefined ? chat : `${chat}:${beginning}`
  }
  return {
    sessionOf,
    add: (message, receivedAt) =>
      file.change<Added>((state) => {
        const { waiting, answered } = state
        const isKnown = answered.includes(message.id) || waiting.some(({ id }) => id === message.id)
        if (isKnown) return { state, result: null }
        if (waiting.length >= MAX_WAITING) return { state, result: 'full' }
        const added = { ...message, sentIds: [], sessionKey: sessionOf(message.place), receivedAt }
        const groups = withGroup(channel, state.groups, message.place)
        return { state: { ...state, groups, waiting: [...waiting, added] }, result: added }
      }),
    list: () => file.read().waiting,
    listGroups: () => file.read().groups,
    keepSent: (id, sentIds) =>
      file.change((state) => {
        const waiting = state.waiting.map((one) => (one.id === id ? { ...one, sentIds: [...sentIds] } : one))
        return { state: { ...state, waiting }, result: undefined }
      }),
    finish: (id) =>
      file.change((state) => {
        const waiting = state.waiting.filter((one) => one.id !== id)
        const answered = [...state.answered.filter((one) => one !== id), id].slice(-KEPT_ANSWERED)
        return { state: { ...state, waiting, answered }, result: undefined }
      }),
    beginAnew: (place, messageId) =>
      file.change((state) => {
        const beginnings = { ...state.beginnings, [toChat(channel, place)]: messageId }
        return { state: { ...state, beginnings }, result: undefined }
      }),
  }
}

function withGroup(channel: string, groups: ChatAddress[], place: ChatAddress): ChatAddress[] {
  if (place.isDirect) return groups
  const others = groups.filter((group) => toChat(channel, group) !== toChat(channel, place))
  return [...others, place].slice(-MAX_GROUPS)
}

/** Returns the key of a chat's first session. */
export function toChat(channel: string, { chatId, threadId }: ChatAddress): string {
  return threadId === null ? `${channel}:${chatId}` : `${channel}:${chatId}:${threadId}`
}
