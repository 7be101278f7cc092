import { type InfiniteData, infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import {
  type ChatAttachment,
  type ChatMessage,
  ChatTurn,
  MessageList,
  OneAttachment,
  TurnList,
} from '../../src/features/conversations/chat/schemas.ts'
import { ApiError, api, asBytes, inPath, request, within } from '../api/request.ts'

const OneTurn = z.object({ turn: ChatTurn })

/** A message that did not get through is sent again so often: its key makes it one turn. */
const ATTEMPTS = 3
const PAUSE_MS = 1000
/** How often is looked for what is new, and for a server that is away. */
const LOOK_MS = 30_000
const LOST_MS = 3_000
/** A PDF of some megabytes over a slow line, and the reading of it. */
const UPLOAD_MS = 120_000

/** A conversation with an agent: a session, or null for what is said outside of all. */
export type Place = { agentId: string; sessionId: string | null }

/** What was said in a conversation: the first page is the newest, each further page is older. */
export function messagesQuery({ agentId, sessionId }: Place) {
  return infiniteQueryOptions({
    queryKey: ['messages', agentId, sessionId],
    queryFn: ({ pageParam, signal }) => listMessages({ agentId, sessionId }, pageParam, signal),
    initialPageParam: '',
    getNextPageParam: (page: MessageList) => (page.hasMore ? page.messages[0]?.id : undefined),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
}

/** The turns that an agent has under way for this user, whoever began them. */
export function runningTurnsQuery(agentId: string) {
  return queryOptions({
    queryKey: ['turns', agentId],
    queryFn: ({ signal }) => request(TurnList, api.GET('/api/chat/turns', { params: { query: { agentId } }, signal })),
    // Another device may have begun one; a server that is away is looked for more often.
    refetchInterval: ({ state }) => (state.status === 'error' ? LOST_MS : LOOK_MS),
    refetchOnWindowFocus: 'always',
  })
}

/** Looks now and then for what was said on another device, and in a turn that this page has not seen. */
export function newMessagesQuery(client: QueryClient, place: Place) {
  return queryOptions({
    queryKey: ['new-messages', place.agentId, place.sessionId],
    queryFn: async () => {
      await readNewMessages(client, place)
      return null
    },
    initialData: null,
    staleTime: LOOK_MS,
    refetchInterval: LOOK_MS,
    refetchOnWindowFocus: 'always',
  })
}

/** Adds what was said since the newest known message, or reads all anew when there is more than a page of it. */
export async function readNewMessages(client: QueryClient, place: Place): Promise<void> {
  const { queryKey } = messagesQuery(place)
  const fresh = await listMessages(place, '')
  const ids = new Set(fresh.messages.map(({ id }) => id))
  let hasGap = false
  client.setQueryData(queryKey, (known: InfiniteData<MessageList, unknown> | undefined) => {
    const [newest, ...older] = known?.pages ?? []
    if (!known || !newest) return known
    const kept = newest.messages.filter(({ id }) => !ids.has(id))
    hasGap = newest.messages.length > 0 && kept.length === newest.messages.length && fresh.hasMore
    if (hasGap) return known
    const first = fresh.messages[0]
    const earlier: ChatMessage[] = first ? kept.filter(({ timestamp }) => timestamp <= first.timestamp) : kept
    const isWhole = earlier.length === 0
    const page = { ...newest, messages: [...earlier, ...fresh.messages] }
    return { ...known, pages: [isWhole ? { ...page, hasMore: fresh.hasMore } : page, ...older] }
  })
  if (hasGap) await client.invalidateQueries({ queryKey })
}

/** A message with its files, the message in whose place it comes, and the key that makes it one turn. */
export type Outgoing = {
  text: string
  attachments: readonly ChatAttachment[]
  replaces?: string | undefined
  key: string
}

/** Puts a file into the workspace of the agent, to be sent with a message. @throws ApiError. */
export async function uploadFile(agentId: string, file: File): Promise<ChatAttachment> {
  const query = { agentId, name: file.name.slice(0, 200) }
  const sent = { params: { query }, ...asBytes(file), fetch: within(UPLOAD_MS) }
  return (await request(OneAttachment, api.POST('/api/chat/attachments', sent))).attachment
}

/**
 * Gives a message to the agent, once, even when the connection breaks while it is sent; in the place of an earlier one if
 * `replaces` names it, which then keeps its files unless there are others.
 * @throws ApiError when it is refused, or the server stays away.
 */
export async function beginTurn({ agentId, sessionId }: Place, message: Outgoing): Promise<ChatTurn> {
  const { text, attachments, replaces, key } = message
  const headers = { prefer: 'respond-async', 'idempotency-key': key }
  for (let attempt = 1; ; attempt++) {
    try {
      const place = { agentId, ...(sessionId !== null && { sessionId }) }
      const files = attachments.length > 0 && { attachments: attachments.map(({ id }) => id) }
      const body = { message: text, ...place, ...files, ...(replaces && { replaces }) }
      return (await request(OneTurn, api.POST('/api/chat', { body, headers }))).turn
    } catch (error) {
      const mayHelp = error instanceof ApiError && error.status === 0 && attempt < ATTEMPTS
      if (!mayHelp) throw error
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * attempt))
    }
  }
}

/** How a turn stands now. */
export async function readTurn(id: string, signal: AbortSignal): Promise<ChatTurn> {
  return (await request(OneTurn, api.GET('/api/chat/turns/{id}', { ...inPath({ id }), signal }))).turn
}

/** Ends a turn; what was said is kept. */
export async function stopTurn(id: string): Promise<ChatTurn> {
  return (await request(OneTurn, api.POST('/api/chat/turns/{id}/stop', inPath({ id })))).turn
}

function listMessages({ agentId, sessionId }: Place, before: string, signal?: AbortSignal) {
  const place = { agentId, sessionId: sessionId ?? 'none' }
  const query = { ...place, limit: 50, before: before || undefined }
  return request(MessageList, api.GET('/api/chat', { params: { query }, ...(signal && { signal }) }))
}
