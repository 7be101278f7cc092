import { queryOptions, useMutation } from '@tanstack/react-query'
import { AgentEgress, BlockedList, type EgressRequest } from '../../src/features/agents/egress/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { queryClient, refresh } from '../api/query-client.ts'
import { api, inPath, request } from '../api/request.ts'

export function egressQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'egress'],
    queryFn: ({ signal }) =>
      request(AgentEgress, api.GET('/api/agents/{id}/egress', { ...inPath({ id: agentId }), signal })),
  })
}

export function blockedQuery(agentId: string) {
  return queryOptions({
    queryKey: [...egressQuery(agentId).queryKey, 'blocked'],
    queryFn: async ({ signal }) =>
      (await request(BlockedList, api.GET('/api/agents/{id}/egress/blocked', { ...inPath({ id: agentId }), signal })))
        .blocked,
    refetchInterval: 15_000,
  })
}

export async function changeEgress(agentId: string, body: EgressRequest): Promise<void> {
  const changed = await request(AgentEgress, api.PUT('/api/agents/{id}/egress', { ...inPath({ id: agentId }), body }))
  await showChanged(agentId, changed)
}

/** Adds one destination to the allow list. */
export function useAllow(agentId: string) {
  return useMutation({
    mutationFn: async (destination: string) => {
      const answer = api.POST('/api/agents/{id}/egress/allow', { ...inPath({ id: agentId }), body: { destination } })
      await showChanged(agentId, await request(AgentEgress, answer))
    },
  })
}

async function showChanged(agentId: string, changed: AgentEgress): Promise<void> {
  queryClient.setQueryData(egressQuery(agentId).queryKey, changed)
  await refresh(blockedQuery(agentId))
}
