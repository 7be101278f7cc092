import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../account/session.ts'
import { ApiError, messageFor } from '../api/request.ts'
import { PLAN_NEEDED, PlanLink } from '../billing/plan-needed.tsx'
import { Notice } from '../ui/notice.tsx'

export function Refusal({ error }: { error: unknown }) {
  if (error instanceof ApiError && error.status === 402) return <SubscriptionNeeded />
  if (error instanceof ApiError && error.limit !== null) {
    return (
      <Notice tone="warning" role="alert" title="Agent limit reached">
        <p>
          Your plan allows {error.limit} {error.limit === 1 ? 'agent' : 'agents'} and you have{' '}
          {error.current ?? error.limit}. Delete an agent or upgrade your plan.
        </p>
      </Notice>
    )
  }
  return (
    <Notice tone="problem" title="Could not create the agent">
      {messageFor(error)}
    </Notice>
  )
}

export function SubscriptionNeeded() {
  const email = useQuery(sessionQuery).data?.user?.email ?? 'EMAIL'
  return (
    <Notice tone="warning" role="alert" title="Active subscription required">
      <p>{PLAN_NEEDED}</p>
      <PlanLink />
      <p>The administrator can also assign a plan:</p>
      <code className="rounded-md bg-surface px-2.5 py-1.5 font-mono text-[0.8125rem] break-all">
        stead user set-plan {email} starter
      </code>
      <p>Plans are starter, pro and enterprise. Then create the agent again.</p>
    </Notice>
  )
}
