import { useInfiniteQuery } from '@tanstack/react-query'
import type { Approval } from '../../src/features/conversations/approvals/schemas.ts'
import { LoadingRows, ShowMore } from '../admin/paging.tsx'
import { Page } from '../shell/page.tsx'
import { LoadProblem } from '../ui/notice.tsx'
import { Empty } from '../ui/panel.tsx'
import { ApprovalItem } from './approval-item.tsx'
import { approvalsQuery, useCountFollows } from './approvals-api.ts'

/** Page `/approvals`. */
export function ApprovalsPage() {
  const query = useInfiniteQuery(approvalsQuery)
  const approvals = query.data?.pages.flatMap((page) => page.approvals)
  useCountFollows(approvals)
  return (
    <Page title="Approvals" lead="Actions your agents want to take. Unanswered requests expire and are denied.">
      {!approvals && query.error && <LoadProblem what="approvals" error={query.error} onRetry={query.refetch} />}
      {!approvals && !query.error && <LoadingRows what="approvals" />}
      {approvals && <Approvals approvals={approvals} />}
      {approvals && <ShowMore what="approvals" {...query} />}
    </Page>
  )
}

function Approvals({ approvals }: { approvals: Approval[] }) {
  if (approvals.length === 0) {
    return (
      <Empty title="No approvals yet">
        <p>
          Actions that delete, pay or contact others appear here before they run. Each agent’s settings define which
          tools need approval.
        </p>
      </Empty>
    )
  }
  const waits = ({ status }: Approval) => (status === 'waiting' ? 0 : 1)
  const ordered = approvals.toSorted((one, other) => waits(one) - waits(other))
  return (
    <ul aria-label="Approvals" className="divide-y divide-line rounded-xl border border-line bg-surface">
      {ordered.map((approval) => (
        <ApprovalItem key={approval.id} approval={approval} />
      ))}
    </ul>
  )
}
