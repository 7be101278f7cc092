import { infiniteQueryOptions, queryOptions, useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { Overview } from '../../src/features/admin/overview/schemas.ts'
import { type Approval, ApprovalList, OneApproval } from '../../src/features/conversations/approvals/schemas.ts'
import { queryClient, refresh } from '../api/query-client.ts'
import { api, inPath, request } from '../api/request.ts'
import { overviewQuery } from '../overview/overview-api.ts'

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

export async function decideApproval(id: string, verb: 'approve' | 'deny'): Promise<void> {
  try {
    await request(OneApproval, api.POST(`/api/approvals/{id}/${verb}`, inPath({ id })))
  } finally {
    // On failure too: another session may have decided first.
    await refresh(approvalsQuery)
  }
}

/** Reads the number of pending approvals from the overview, which is refetched on navigation and on focus only. */
export function useWaitingCount(isEnabled: boolean): number {
  const router = useRouter()
  useEffect(
    () =>
      router.subscribe('onRendered', ({ pathChanged, fromLocation }) => {
        if (!pathChanged || !fromLocation) return
        void queryClient.refetchQueries({ queryKey: overviewQuery.queryKey, exact: true, type: 'active', stale: true })
      }),
    [router],
  )
  const { data } = useQuery({ ...overviewQuery, enabled: isEnabled, refetchInterval: false, select: countWaiting })
  return data ?? 0
}

/** Updates the count in the navigation from a list that is refetched more often. */
export function useCountFollows(approvals: readonly Approval[] | undefined): void {
  const waiting = approvals?.filter(({ status }) => status === 'waiting').map(({ id }) => id)
  const sign = waiting?.join()
  useEffect(() => {
    if (sign !== undefined) void queryClient.invalidateQueries({ queryKey: overviewQuery.queryKey, exact: true })
  }, [sign])
}

function countWaiting({ attention }: Overview): number {
  return attention.find((each) => each.kind === 'approvals')?.waiting ?? 0
}
