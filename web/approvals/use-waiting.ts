import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { Overview } from '../../src/features/admin/overview/schemas.ts'
import type { Approval } from '../../src/features/conversations/approvals/schemas.ts'
import { overviewQuery } from '../overview/overview-api.ts'

/** Reads the number of pending approvals from the overview, which is refetched on navigation and on focus only. */
export function useWaitingCount(isEnabled: boolean): number {
  const client = useQueryClient()
  const router = useRouter()
  useEffect(
    () =>
      router.subscribe('onRendered', ({ pathChanged, fromLocation }) => {
        if (!pathChanged || !fromLocation) return
        void client.refetchQueries({ queryKey: overviewQuery.queryKey, exact: true, type: 'active', stale: true })
      }),
    [client, router],
  )
  const { data } = useQuery({ ...overviewQuery, enabled: isEnabled, refetchInterval: false, select: countWaiting })
  return data ?? 0
}

/** Updates the count in the navigation from a list that is refetched more often. */
export function useCountFollows(approvals: readonly Approval[] | undefined): void {
  const client = useQueryClient()
  const waiting = approvals?.filter(({ status }) => status === 'waiting').map(({ id }) => id)
  const sign = waiting?.join()
  useEffect(() => {
    if (sign !== undefined) void client.invalidateQueries({ queryKey: overviewQuery.queryKey, exact: true })
  }, [client, sign])
}

function countWaiting({ attention }: Overview): number {
  return attention.find((each) => each.kind === 'approvals')?.waiting ?? 0
}
