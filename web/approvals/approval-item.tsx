import { useMutation } from '@tanstack/react-query'
import type { Approval } from '../../src/features/conversations/approvals/schemas.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice } from '../ui/notice.tsx'
import { decide } from './approvals-api.ts'
import { toVisible } from './visible-text.ts'

const states: Readonly<Record<Approval['status'], readonly ['good' | 'plain' | 'warning' | 'problem', string]>> = {
  waiting: ['warning', 'Pending'],
  approved: ['good', 'Approved'],
  used: ['good', 'Approved and completed'],
  denied: ['plain', 'Denied'],
  expired: ['plain', 'Expired (denied)'],
}

export function ApprovalItem({ approval }: { approval: Approval }) {
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
  const decision = useMutation({ mutationFn: (verb: 'approve' | 'deny') => decide(id, verb) })
  const what = `${tool} of ${agentName}`
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button
        look="primary"
        aria-label={`Approve ${what}`}
        isPending={decision.isPending}
        onClick={() => decision.mutate('approve')}
      >
        Approve
      </Button>
      <Button aria-label={`Deny ${what}`} isPending={decision.isPending} onClick={() => decision.mutate('deny')}>
        Deny
      </Button>
      <span className="text-sm text-muted">
        Expires <Moment at={expiresAt} as="distance" /> (denied)
      </span>
      <ErrorNotice error={decision.error} />
    </div>
  )
}
