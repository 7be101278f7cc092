import { useMutation, useQuery } from '@tanstack/react-query'
import type { WalletPayment } from '../../src/features/payments/wallets/schemas.ts'
import { DecisionButtons } from '../approvals/decision-buttons.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, LoadProblem, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { decidePayment, paymentsQuery, resolve } from './wallets-api.ts'

const states: Readonly<Record<WalletPayment['status'], readonly ['good' | 'plain' | 'warning' | 'problem', string]>> = {
  awaiting_approval: ['warning', 'Awaiting approval'],
  created: ['plain', 'Queued'],
  sent: ['plain', 'Sent'],
  succeeded: ['good', 'Paid'],
  failed: ['problem', 'Failed'],
  unknown: ['warning', 'Unknown'],
  denied: ['plain', 'Denied'],
}

export function PaymentTable() {
  const { data: payments, error, refetch } = useQuery(paymentsQuery)
  if (error && !payments) return <LoadProblem what="payments" error={error} onRetry={refetch} />
  return (
    <Section title="Payments" lead="Payments are never sent twice; pending ones are tracked until confirmed.">
      {payments ? <Payments payments={payments} /> : <Skeleton className="h-10" />}
    </Section>
  )
}

function Payments({ payments }: { payments: WalletPayment[] }) {
  if (payments.length === 0) return <p className="text-sm text-muted">No payments yet</p>
  const waits = ({ status }: WalletPayment) => (status === 'awaiting_approval' ? 0 : 1)
  const ordered = payments.toSorted((one, other) => waits(one) - waits(other))
  return (
    <ul aria-label="Payments" className="-my-3 divide-y divide-line">
      {ordered.map((payment) => (
        <PaymentItem key={payment.id} payment={payment} />
      ))}
    </ul>
  )
}

function PaymentItem({ payment }: { payment: WalletPayment }) {
  const [tone, word] = states[payment.status]
  return (
    <li className="grid grid-cols-1 gap-1.5 py-3">
      <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
        <span className="font-medium tabular-nums">
          {payment.amount} {payment.currency}
        </span>
        <Badge tone={tone}>{word}</Badge>
        {payment.undoneAt && <Badge tone="warning">Reverted once</Badge>}
        <span className="text-sm text-muted">
          <Moment at={payment.createdAt} as="distance" />
        </span>
      </p>
      <p className="flex flex-wrap gap-x-3 text-sm text-muted">
        <span className="break-all">to {payment.recipient}</span>
        <span>{payment.purpose}</span>
        {payment.agentId && <span>by {payment.agentId}</span>}
        {payment.explorerUrl && (
          <a href={payment.explorerUrl} target="_blank" rel="noreferrer">
            Transaction
          </a>
        )}
      </p>
      {payment.reason && <p className="text-sm text-muted">{payment.reason}</p>}
      {payment.status === 'awaiting_approval' && (
        <DecisionButtons
          what={`${payment.amount} ${payment.currency}`}
          expiresAt={payment.approvalExpiresAt}
          decide={(verb) => decidePayment(payment.id, verb)}
        />
      )}
      {payment.status === 'unknown' && payment.kind === 'upstream' && <Outcome payment={payment} />}
    </li>
  )
}

/** Lets the owner resolve a payment whose outcome the gateway does not know. */
function Outcome({ payment: { id, amount, currency } }: { payment: WalletPayment }) {
  const outcome = useMutation({ mutationFn: (status: 'succeeded' | 'failed') => resolve(id, status) })
  const what = `${amount} ${currency}`
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button
        aria-label={`Mark ${what} as paid`}
        isPending={outcome.isPending}
        onClick={() => outcome.mutate('succeeded')}
      >
        Mark as paid
      </Button>
      <Button
        aria-label={`Mark ${what} as not paid`}
        isPending={outcome.isPending}
        onClick={() => outcome.mutate('failed')}
      >
        Mark as not paid
      </Button>
      <ErrorNotice error={outcome.error} />
    </div>
  )
}
