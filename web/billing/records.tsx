import { useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { buttonClass } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { LoadProblem, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { LEDGER_EXPORT_PATH, ledgerQuery, receiptsQuery, untilConfirmed } from './billing-api.ts'

type RecordsProps = { isAwaited: boolean }

export function ReceiptsSection({ isAwaited }: RecordsProps) {
  const { data, error, refetch } = useQuery({ ...receiptsQuery, refetchInterval: isAwaited && untilConfirmed })
  return (
    <Section title="Receipts" lead="Printable receipts of your payments.">
      {error && <LoadProblem what="receipts" error={error} onRetry={refetch} />}
      {!data && !error && <Skeleton className="h-20" />}
      {data?.receipts.length === 0 && <p className="text-sm text-muted">No payments yet</p>}
      <ul className="grid divide-y divide-line text-sm">
        {data?.receipts.map(({ id, createdAt, what, amount, currency, refunded }) => (
          <li key={id} className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1 py-2">
            <a href={`/api/receipts/${id}`} target="_blank" rel="noreferrer" className="underline wrap-anywhere">
              {what}
            </a>
            <span className="tabular-nums text-muted">
              {amount} {currency}
              {refunded && `, ${refunded} refunded`} · <Moment at={createdAt} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

export function MovementsSection({ isAwaited }: RecordsProps) {
  const { data, error, refetch } = useQuery({ ...ledgerQuery, refetchInterval: isAwaited && untilConfirmed })
  return (
    <Section
      title="Transactions"
      lead="Credits added and spent, and wallet payments, newest first."
      actions={
        <a href={LEDGER_EXPORT_PATH} download className={buttonClass('plain')}>
          <Download aria-hidden className="size-4" />
          CSV
        </a>
      }
    >
      {error && <LoadProblem what="transactions" error={error} onRetry={refetch} />}
      {!data && !error && <Skeleton className="h-20" />}
      {data?.lines.length === 0 && <p className="text-sm text-muted">No transactions yet</p>}
      <ul className="grid divide-y divide-line text-sm">
        {data?.lines.map(({ entry, account, createdAt, memo, amount, currency, balance }) => (
          <li
            key={`${entry} ${account} ${currency}`}
            className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1 py-2"
          >
            <span className="wrap-anywhere">
              {memo} <span className="text-muted">· {<Moment at={createdAt} as="minute" />}</span>
            </span>
            <span className="tabular-nums">
              {amount.startsWith('-') ? amount : `+${amount}`} {currency}
              <span className="text-muted">{account === 'wallets' ? ' · wallets' : ` · balance ${balance}`}</span>
            </span>
          </li>
        ))}
      </ul>
      {data?.next && <p className="text-sm text-muted">Download the CSV for all transactions.</p>}
    </Section>
  )
}
