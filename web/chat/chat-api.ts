import { type InfiniteData, infiniteQueryOptions, type QueryClient } from '@tanstack/react-query'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { z } from 'zod'
import { type ChatMessage, MessageList, ReplyDelta, SentMessage } from '../../src/features/talk/chat/schemas.ts'
import { ApiError, reach, request, toApiError } from '../api/request.ts'

const silenceMs = 120_000

const StreamError = z.object({ error: z.string() })

/** The conversation with one agent: the first page is the newest, each further page is older. */
export function messagesQuery(agentId: string) {
  return infiniteQueryOptions({
    queryKey: ['messages', agentId],
    queryFn: ({ pageParam, signal }) => listMessages(agentId, pageParam, signal),
    initialPageParam: '',
    getNextPageParam: (page: MessageList) => (page.hasMore ? page.messages[0]?.id : undefined),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
}

/** Adds messages to the end of the known conversation, without asking the server, unless they have come from there. */
export function appendMessages(client: QueryClient, agentId: string, messages: ChatMessage[]): void {
  client.setQueryData(messagesQuery(agentId).queryKey, (known: InfiniteData<MessageList, unknown> | undefined) => {
    const [newest, ...older] = known?.pages ?? []
    if (!known || !newest || newest.messages.some(({ id }) => id === messages[0]?.id)) return known
    return { ...known, pages: [{ ...newest, messages: [...newest.messages, ...messages] }, ...older] }
  })
}

/**
 * Sends a message and yields the reply piece by piece; returns what the server stored.
 * @throws ApiError when it is refused, breaks off, or nothing comes for two minutes.
 */
export async function* streamReply(
  agentId: string,
  message: string,
  signal: AbortSignal,
): AsyncGenerator<string, SentMessage> {
  const silence = createSilenceTimer()
  const response = await reach('/api/chat', {
    method: 'POST',
    body: { message, agentId, stream: true },
    headers: { accept: 'text/event-stream' },
    signal: AbortSignal.any([signal, silence.signal]),
  })
  try {
    if (!response.ok || !response.body) throw await toApiError(response)
    if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
      return SentMessage.parse(await response.json())
    const reader = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream({ onComment: silence.restart }))
      .getReader()
    for (let next = await read(reader); !next.done; next = await read(reader)) {
      silence.restart()
      const { event, data } = next.value
      if (event === 'delta') yield ReplyDelta.parse(JSON.parse(data)).text
      if (event === 'done') return SentMessage.parse(JSON.parse(data))
      if (event === 'error') throw new ApiError(502, StreamError.parse(JSON.parse(data)).error)
    }
    throw new ApiError(0, 'The reply broke off before it was complete.')
  } finally {
    silence.stop()
  }
}

function listMessages(agentId: string, before: string, signal: AbortSignal) {
  const query = new URLSearchParams({ agentId, limit: '50', ...(before ? { before } : {}) })
  return request(MessageList, `/api/chat?${query}`, { signal })
}

/** A connection that breaks mid-reply reads like one that ended. */
async function read<T>(reader: ReadableStreamDefaultReader<T>) {
  try {
    return await reader.read()
  } catch (error) {
    if (error instanceof TypeError) throw new ApiError(0, 'The connection was lost before the reply was complete.')
    throw error
  }
}

/** Aborts with an ApiError once nothing has restarted it for two minutes. */
function createSilenceTimer() {
  const controller = new AbortController()
  const giveUp = () => controller.abort(new ApiError(0, 'The agent has been silent for two minutes.'))
  let timer = setTimeout(giveUp, silenceMs)
  const stop = () => clearTimeout(timer)
  const restart = () => {
    stop()
    timer = setTimeout(giveUp, silenceMs)
  }
  return { signal: controller.signal, restart, stop }
}
