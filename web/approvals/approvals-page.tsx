import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import type { Approval } from '../../src/features/talk/approvals/schemas.ts'
import { LoadingRows, ShowMore } from '../admin/paging.tsx'
import { messageFor } from '../api/request.ts'
import { Page } from '../shell/page.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Empty } from '../ui/empty.tsx'
import { Moment } from '../ui/moment.tsx'
import { LoadProblem, Notice } from '../ui/notice.tsx'
import { approvalsQuery, decide } from './approvals-api.ts'
import { toVisible } from './visible-text.ts'

const states: Readonly<Record<Approval['status'], readonly ['good' | 'plain' | 'warning' | 'problem', string]>> = {
  waiting: ['warning', 'Waits for you'],
  approved: ['good', 'Approved'],
  used: ['good', 'Approved and done'],
  denied: ['plain', 'Denied'],
  expired: ['plain', 'Denied: no answer in time'],
}

/** `/approvals`: what agents want to do and must not do without their owner. */
export function ApprovalsPage() {
  const query = useInfiniteQuery(approvalsQuery)
  const approvals = query.data?.pages.flatMap((page) => page.approvals)
  return (
    <Page title="Approvals" lead="What your agents ask before they do it. Without an answer it is denied.">
      {!approvals && query.error && <LoadProblem what="Your approvals" error={query.error} onRetry={query.refetch} />}
      {!approvals && !query.error && <LoadingRows what="your approvals" />}
      {approvals && <Approvals approvals={approvals} />}
      {approvals && <ShowMore what="approvals" {...query} />}
    </Page>
  )
}

function Approvals({ approvals }: { approvals: Approval[] }) {
  if (approvals.length === 0) {
    return (
      <Empty title="No agent has asked for anything yet">
        <p>
          What deletes, pays or speaks to others stands here before it is done, with what exactly is wanted, and waits
          for you. The settings of each agent tell which of its tools ask.
        </p>
      </Empty>
    )
  }
  const waits = ({ status }: Approval) => (status === 'waiting' ? 0 : 1)
  const ordered = approvals.toSorted((one, other) => waits(one) - waits(other))
  return (
    <ul aria-label="Your approvals" className="divide-y divide-line rounded-xl border border-line bg-surface">
      {ordered.map((approval) => (
        <ApprovalItem key={approval.id} approval={approval} />
      ))}
    </ul>
  )
}

function ApprovalItem({ approval }: { approval: Approval }) {
  const [tone, word] = states[approval.status]
  return (
    <li className="grid min-w-0 grid-cols-1 gap-2 p-4">
      <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1 wrap-anywhere">
        <span className="font-medium">{approval.agentName}</span>
        <span>
          wants to use <code className="font-mono text-sm">{toVisible(approval.tool)}</code>
        </span>
        <Badge tone={tone}>{word}</Badge>
        <span className="text-sm text-muted">
          <Moment at={approval.createdAt} as="distance" />
        </span>
      </p>
      <pre className="max-h-96 overflow-auto rounded-md bg-sunken p-3 font-mono text-sm whitespace-pre-wrap wrap-anywhere">
        {toVisible(approval.arguments)}
      </pre>
      {approval.status === 'waiting' && <Decision approval={approval} />}
    </li>
  )
}

function Decision({ approval: { id, agentName, tool, expiresAt } }: { approval: Approval }) {
  const client = useQueryClient()
  const decision = useMutation({ mutationFn: (verb: 'approve' | 'deny') => decide(client, id, verb) })
  const what = `${tool} of ${agentName}`
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button
        look="primary"
        aria-label={`Approve ${what}`}
        isPending={decision.isPending}
        onClick={() => decision.mutate('approve')}
      >
        Approve once
      </Button>
      <Button aria-label={`Deny ${what}`} isPending={decision.isPending} onClick={() => decision.mutate('deny')}>
        Deny
      </Button>
      <span className="text-sm text-muted">
        Denied by itself <Moment at={expiresAt} as="distance" />
      </span>
      {decision.error && <Notice tone="problem">{messageFor(decision.error)}</Notice>}
    </div>
  )
}
