import { queryOptions } from '@tanstack/react-query'
import { type ChangeLimitsRequest, DayLimits } from '../../src/features/ai/breakers/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { queryClient, refresh } from '../api/query-client.ts'
import { api, inPath, request } from '../api/request.ts'

export function limitsQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'limits'],
    queryFn: ({ signal }) =>
      request(DayLimits, api.GET('/api/agents/{id}/limits', { ...inPath({ id: agentId }), signal })),
  })
}

export async function changeLimits(agentId: string, body: ChangeLimitsRequest): Promise<void> {
  const changed = await request(DayLimits, api.PUT('/api/agents/{id}/limits', { ...inPath({ id: agentId }), body }))
  queryClient.setQueryData(limitsQuery(agentId).queryKey, changed)
  await refresh({ queryKey: [...agentQuery(agentId).queryKey, 'leash'] })
}
