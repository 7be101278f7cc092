import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query'
import { ApprovalList, OneApproval } from '../../src/features/conversations/approvals/schemas.ts'
import { api, inPath, request } from '../api/request.ts'

/** Polls often, because an agent is waiting. */
export const approvalsQuery = infiniteQueryOptions({
  queryKey: ['approvals'],
  queryFn: ({ pageParam, signal }) => {
    const query = { limit: 30, before: pageParam ?? undefined }
    return request(ApprovalList, api.GET('/api/approvals', { params: { query }, signal }))
  },
  initialPageParam: null as number | null,
  getNextPageParam: (page) => page.next,
  refetchInterval: 5000,
})

/** Polls often, because the user is waiting for the reply. */
export function waitingQuery(agentId: string) {
  return queryOptions({
    queryKey: [...approvalsQuery.queryKey, 'waiting', agentId],
    queryFn: async ({ signal }) => {
      const query = { agentId, status: 'waiting', limit: 5 } as const
      return (await request(ApprovalList, api.GET('/api/approvals', { params: { query }, signal }))).approvals
    },
    refetchInterval: 2000,
  })
}

export async function decide(client: QueryClient, id: string, verb: 'approve' | 'deny'): Promise<void> {
  try {
    await request(OneApproval, api.POST(`/api/approvals/{id}/${verb}`, inPath({ id })))
  } finally {
    // On failure too: another session may have decided first.
    await client.invalidateQueries({ queryKey: approvalsQuery.queryKey })
  }
}
