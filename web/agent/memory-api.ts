import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { Memory } from '../../src/features/conversations/memory/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { api, request } from '../api/request.ts'

const Success = z.object({ success: z.literal(true) })

export function memoryQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'memory'],
    queryFn: ({ signal }) => request(Memory, api.GET('/api/memory', { params: { query: { agentId } }, signal })),
    refetchInterval: 10_000,
  })
}

export function saveFact(agentId: string, key: string, memory: string) {
  return request(Success, api.POST('/api/memory', { body: { agentId, key, memory } }))
}

export function forgetFact(agentId: string, key: string) {
  return request(Success, api.DELETE('/api/memory', { params: { query: { agentId, key } } }))
}
