import { infiniteQueryOptions, type QueryClient, queryOptions } from '@tanstack/react-query'
import { ApprovalList, OneApproval } from '../../src/features/conversations/approvals/schemas.ts'
import { api, inPath, request } from '../api/request.ts'

/** What agents have asked, newest first; looked at often, for an agent waits. */
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

/** The approvals that an agent needs to go on, looked at often: somebody waits for its reply. */
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
    // Also when somebody else was faster: then the list says how.
    await client.invalidateQueries({ queryKey: approvalsQuery.queryKey })
  }
}
