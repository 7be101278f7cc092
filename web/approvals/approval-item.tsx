import type { Approval } from '../../src/features/conversations/approvals/schemas.ts'
import { Badge } from '../ui/badge.tsx'
import { Moment } from '../ui/moment.tsx'
import { decideApproval } from './approvals-api.ts'
import { DecisionButtons } from './decision-buttons.tsx'
import { describeRaise } from './raised-limit.ts'
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
  const raise = describeRaise(approval)
  return (
    <li className="grid min-w-0 grid-cols-1 gap-2 p-4">
      <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1 wrap-anywhere">
        <span className="font-medium">{approval.agentName}</span>
        {raise === null ? (
          <span>
            wants to use <code className="font-mono text-sm">{toVisible(approval.tool)}</code>
          </span>
        ) : (
          <span>has reached a daily limit</span>
        )}
        <Badge tone={tone}>{word}</Badge>
        <span className="text-sm text-muted">
          <Moment at={approval.createdAt} as="distance" />
        </span>
      </p>
      {raise === null ? (
        <pre className="max-h-96 overflow-auto rounded-md bg-sunken p-3 font-mono text-sm whitespace-pre-wrap wrap-anywhere">
          {toVisible(approval.arguments)}
        </pre>
      ) : (
        <p>{raise}</p>
      )}
      {approval.status === 'waiting' && (
        <DecisionButtons
          what={`${raise === null ? approval.tool : 'a higher daily limit'} of ${approval.agentName}`}
          expiresAt={approval.expiresAt}
          decide={(verb) => decideApproval(approval.id, verb)}
        />
      )}
    </li>
  )
}
