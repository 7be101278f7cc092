import { join } from 'node:path'
import { z } from 'zod'
import { Incoming, Place } from './channel.ts'
import { openStateFile } from './state-file.ts'

/** A message that waits for its answer; `sentIds` are the messages in which that has begun to stand. */
const Waiting = Incoming.extend({
  sessionKey: z.string(),
  sentIds: z.array(z.string()),
  /** ISO 8601. */
  receivedAt: z.string().default(() => new Date().toISOString()),
})
export type Waiting = z.infer<typeof Waiting>

const InboxState = z.object({
  waiting: z.array(Waiting),
  /** Ids of the newest messages that were answered. */
  answered: z.array(z.string()),
  /** Where a chat began anew: its sessions have that behind their names. */
  beginnings: z.record(z.string(), z.string()),
  /** Groups in which the agent was spoken to, the newest last. */
  groups: z.array(Place).default([]),
})

/** Null for a message that is known already; `full` when too many wait. */
type Added = Waiting | 'full' | null

const MAX_WAITING = 100
const MAX_GROUPS = 200
/** A service delivers again what was not confirmed to it, and never more than about a hundred of those at once. */
const KEPT_ANSWERED = 500

/** Messages between their arrival and the end of their answer, on disk. */
export type Inbox = {
  add(message: Incoming, receivedAt: string): Promise<Added>
  list(): readonly Waiting[]
  listGroups(): readonly Place[]
  keepSent(id: string, sentIds: readonly string[]): Promise<void>
  finish(id: string): Promise<void>
  /** The session in which a chat goes on. */
  sessionOf(place: Place): string
  /** What is said in this chat from now on is a new session. */
  beginAnew(place: Place, messageId: string): Promise<void>
}

export async function openInbox(folder: string, channel: string): Promise<Inbox> {
  const empty = { waiting: [], answered: [], beginnings: {}, groups: [] }
  const file = await openStateFile(join(folder, `${channel}-inbox.json`), InboxState, empty)
  const sessionOf = (place: Place) => {
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

function withGroup(channel: string, groups: Place[], place: Place): Place[] {
  if (place.isDirect) return groups
  const others = groups.filter((group) => toChat(channel, group) !== toChat(channel, place))
  return [...others, place].slice(-MAX_GROUPS)
}

/** The name of a chat's first session. */
export function toChat(channel: string, { chatId, threadId }: Place): string {
  return threadId === null ? `${channel}:${chatId}` : `${channel}:${chatId}:${threadId}`
}
