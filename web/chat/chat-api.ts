import { type InfiniteData, infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import {
  type ChatAttachment,
  type ChatMessage,
  ChatSession,
  ChatSessionList,
  ChatTurn,
  MessageList,
  OneAttachment,
  SearchResults,
  TurnList,
} from '../../src/features/conversations/chat/schemas.ts'
import { queryClient, refresh } from '../api/query-client.ts'
import { ApiError, api, asBytes, inPath, request, within } from '../api/request.ts'

const OneTurn = z.object({ turn: ChatTurn })

/** Retries are safe: the key makes them one turn. */
const ATTEMPTS = 3
const PAUSE_MS = 1000
/** Poll interval for new messages and for an unreachable server. */
const LOOK_MS = 30_000
const LOST_MS = 3_000
/** Allows for a large PDF on a slow connection. */
const UPLOAD_MS = 120_000

/** A session of an agent, or null for messages outside of sessions. */
export type ChatPlace = { agentId: string; sessionId: string | null }

/** The first page is the newest. */
export function messagesQuery({ agentId, sessionId }: ChatPlace) {
  return infiniteQueryOptions({
    queryKey: ['messages', agentId, sessionId],
    queryFn: ({ pageParam, signal }) => listMessages({ agentId, sessionId }, pageParam, signal),
    initialPageParam: '',
    getNextPageParam: (page: MessageList) => (page.hasMore ? page.messages[0]?.id : undefined),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
}

export function runningTurnsQuery(agentId: string) {
  return queryOptions({
    queryKey: ['turns', agentId],
    queryFn: ({ signal }) => request(TurnList, api.GET('/api/chat/turns', { params: { query: { agentId } }, signal })),
    // Another device may begin a turn; an unreachable server is polled more often.
    refetchInterval: ({ state }) => (state.status === 'error' ? LOST_MS : LOOK_MS),
    refetchOnWindowFocus: 'always',
  })
}

/** Polls for messages from other devices and from turns that this page does not follow. */
export function newMessagesQuery(place: ChatPlace) {
  return queryOptions({
    queryKey: ['new-messages', place.agentId, place.sessionId],
    queryFn: async () => {
      await readNewMessages(place)
      return null
    },
    initialData: null,
    staleTime: LOOK_MS,
    refetchInterval: LOOK_MS,
    refetchOnWindowFocus: 'always',
  })
}

/** Adds messages newer than the newest known one, or reloads when there is more than a page of them. */
export async function readNewMessages(place: ChatPlace): Promise<void> {
  const { queryKey } = messagesQuery(place)
  const fresh = await listMessages(place, '')
  const ids = new Set(fresh.messages.map(({ id }) => id))
  let hasGap = false
  queryClient.setQueryData(queryKey, (known: InfiniteData<MessageList, unknown> | undefined) => {
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
  if (hasGap) await refresh({ queryKey })
}

/** `replaces` is the message being edited; `key` makes retries one turn. */
export type Outgoing = {
  text: string
  attachments: readonly ChatAttachment[]
  replaces?: string | undefined
  key: string
}

export async function uploadAttachment(agentId: string, file: File): Promise<ChatAttachment> {
  const query = { agentId, name: file.name.slice(0, 200) }
  const sent = { params: { query }, ...asBytes(file), fetch: within(UPLOAD_MS) }
  return (await request(OneAttachment, api.POST('/api/chat/attachments', sent))).attachment
}

/**
 * Sends a message exactly once, even over a broken connection. With `replaces`, the edited message keeps its files
 * unless new ones are given.
 * @throws ApiError when it is rejected or the server stays unreachable.
 */
export async function beginTurn({ agentId, sessionId }: ChatPlace, message: Outgoing): Promise<ChatTurn> {
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

export async function readTurn(id: string, signal: AbortSignal): Promise<ChatTurn> {
  return (await request(OneTurn, api.GET('/api/chat/turns/{id}', { ...inPath({ id }), signal }))).turn
}

/** Keeps the text that the agent has sent so far. */
export async function stopTurn(id: string): Promise<ChatTurn> {
  return (await request(OneTurn, api.POST('/api/chat/turns/{id}/stop', inPath({ id })))).turn
}

function listMessages({ agentId, sessionId }: ChatPlace, before: string, signal?: AbortSignal) {
  const place = { agentId, sessionId: sessionId ?? 'none' }
  const query = { ...place, limit: 50, before: before || undefined }
  return request(MessageList, api.GET('/api/chat', { params: { query }, ...(signal && { signal }) }))
}

const OneSession = z.object({ session: ChatSession })
const Success = z.object({ success: z.literal(true) })

export function chatSessionsQuery(agentId: string) {
  return infiniteQueryOptions({
    queryKey: ['sessions', agentId],
    queryFn: ({ pageParam, signal }) => {
      const query = { agentId, before: pageParam || undefined }
      return request(ChatSessionList, api.GET('/api/chat/sessions', { params: { query }, signal }))
    },
    initialPageParam: '',
    getNextPageParam: (page: ChatSessionList) => (page.hasMore ? page.sessions.at(-1)?.id : undefined),
  })
}

export function chatSearchQuery(agentId: string, q: string) {
  return infiniteQueryOptions({
    queryKey: ['search', agentId, q],
    queryFn: ({ pageParam, signal }) => {
      const query = { agentId, q, before: pageParam || undefined }
      return request(SearchResults, api.GET('/api/chat/search', { params: { query }, signal }))
    },
    initialPageParam: '',
    getNextPageParam: (page: SearchResults) => (page.hasMore ? page.results.at(-1)?.message.id : undefined),
    enabled: q !== '',
  })
}

export async function createSession(agentId: string): Promise<ChatSession> {
  return (await request(OneSession, api.POST('/api/chat/sessions', { body: { agentId } }))).session
}

export async function renameSession(id: string, title: string): Promise<ChatSession> {
  return (await request(OneSession, api.PATCH('/api/chat/sessions/{id}', { ...inPath({ id }), body: { title } })))
    .session
}

export async function instructSession(id: string, instructions: string): Promise<ChatSession> {
  return (
    await request(OneSession, api.PATCH('/api/chat/sessions/{id}', { ...inPath({ id }), body: { instructions } }))
  ).session
}

export async function deleteSession(id: string): Promise<void> {
  await request(Success, api.DELETE('/api/chat/sessions/{id}', inPath({ id })))
}
