import { infiniteQueryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { ChatSession, SearchResults, SessionList } from '../../src/features/conversations/chat/schemas.ts'
import { api, inPath, request } from '../api/request.ts'

const OneSession = z.object({ session: ChatSession })
const Success = z.object({ success: z.literal(true) })

export function sessionsQuery(agentId: string) {
  return infiniteQueryOptions({
    queryKey: ['sessions', agentId],
    queryFn: ({ pageParam, signal }) => {
      const query = { agentId, before: pageParam || undefined }
      return request(SessionList, api.GET('/api/chat/sessions', { params: { query }, signal }))
    },
    initialPageParam: '',
    getNextPageParam: (page: SessionList) => (page.hasMore ? page.sessions.at(-1)?.id : undefined),
  })
}

export function searchQuery(agentId: string, q: string) {
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
