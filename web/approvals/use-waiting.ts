import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { Overview } from '../../src/features/admin/overview/schemas.ts'
import type { Approval } from '../../src/features/conversations/approvals/schemas.ts'
import { overviewQuery } from '../overview/overview-api.ts'

/**
 * How many approvals are waited for. The overview tells it, which is read again with each page that is opened and when
 * the window is looked at again, never by a clock of its own.
 */
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

/** Has the count in the navigation follow a list of approvals, which is read more often. */
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
