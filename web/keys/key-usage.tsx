import { useQuery } from '@tanstack/react-query'
import type { KeyReport } from '../../src/features/ai/gateway/schemas.ts'
import { UseCells } from '../cost/cost-tables.tsx'
import { addUp, type CostSums, type Share, toShares, toStack } from '../cost/explore.ts'
import { daysOfMonth, forecastEnd, formatCompact, formatCost, formatCount } from '../cost/figures.ts'
import { Stacked } from '../cost/stacked.tsx'
import { LimitBar } from '../ui/limit-bar.tsx'
import { Loaded, Skeleton } from '../ui/notice.tsx'
import { cellClass, Panel, Section, TableFrame } from '../ui/panel.tsx'
import { keyReportQuery } from './keys-api.ts'

export function KeyUsagePanel({ keyId }: { keyId: string }) {
  const query = useQuery(keyReportQuery(keyId))
  return (
    <Loaded query={query} what="key usage" placeholder={<Skeleton className="h-96 rounded-xl" />}>
      {(report) => (
        <>
          <Month report={report} />
          <LastDays report={report} />
        </>
      )}
    </Loaded>
  )
}

function Month({ report: { month, windowEnd } }: { report: KeyReport }) {
  const { tokens, costUsd, calls, models, requestsPerMinute } = month
  const ends = formatDay(new Date(windowEnd))
  return (
    <Section
      title="This month"
      lead={`${formatCount(calls)} ${calls === 1 ? 'call' : 'calls'}. Months are in UTC; the next starts on ${ends}. A rotated key inherits the usage of the old key.`}
    >
      {costUsd.used === null ? (
        <p className="text-sm">Cost: {formatCost(null)}, because the models have no price</p>
      ) : (
        <Used what="Cost" used={costUsd.used} limit={costUsd.limit} format={formatCost} />
      )}
      <Used what="Tokens" used={tokens.used} limit={tokens.limit} format={formatCompact} />
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-5 gap-y-1.5 text-sm">
        <dt className="text-muted">Models</dt>
        <dd className="wrap-anywhere">{models?.join(', ') ?? 'all models of your plan'}</dd>
        <dt className="text-muted">Requests</dt>
        <dd>{requestsPerMinute === null ? 'no limit' : `up to ${formatCount(requestsPerMinute)} per minute`}</dd>
      </dl>
    </Section>
  )
}

type UsedProps = { what: string; used: number; limit: number | null; format: (figure: number) => string }

function Used({ what, used, limit, format }: UsedProps) {
  const usedUp = limit === null ? null : forecastEnd(used, limit, new Date())
  if (limit === null) {
    return (
      <p className="flex flex-wrap justify-between gap-x-4 text-sm">
        <span>
          {what}: <span className="font-medium tabular-nums">{format(used)}</span>
        </span>
        <span className="text-muted">no limit</span>
      </p>
    )
  }
  return (
    <div className="grid grid-cols-1 gap-1.5">
      <LimitBar label={`${what} used this month`} used={used} limit={limit} note={describeLeft(used, limit, format)}>
        {what}: <span className="font-medium tabular-nums">{format(used)}</span> of {format(limit)}
      </LimitBar>
      {usedUp && <p className="text-sm text-warn">Limit reached by {formatDay(usedUp)}.</p>}
    </div>
  )
}

function describeLeft(used: number, limit: number, format: (figure: number) => string): string {
  return used >= limit ? 'limit reached: requests are rejected' : `${format(limit - used)} left`
}

function LastDays({ report }: { report: KeyReport }) {
  const own = { agentId: 'direct', agentName: null, keyId: report.month.id, keyName: null }
  const rows = report.rows.map((row) => ({ ...row, ...own }))
  const sums = addUp(rows)
  const limit = report.month.costUsd.limit
  const budget = limit === null ? null : { usd: limit / daysOfMonth(new Date()), label: 'Daily share of the budget' }
  return (
    <Panel title="Last 30 days">
      {sums.calls === 0 ? (
        <p className="px-4 pb-4 text-sm text-muted">No model calls in this period</p>
      ) : (
        <>
          <Stacked
            stack={toStack({ days: report.days, rows }, 'model')}
            isNothing={(sums.costUsd ?? 0) === 0}
            budget={budget}
          />
          <ModelTable shares={withSum(toShares(rows, 'model'), sums)} />
        </>
      )}
    </Panel>
  )
}

const modelColumns = { Model: 'text', Cost: 'number', Calls: 'number', Tokens: 'number' } as const

function ModelTable({ shares }: { shares: readonly Share[] }) {
  return (
    <TableFrame label="Usage by model" columns={modelColumns}>
      {shares.map((share) => (
        <tr key={share.id}>
          <th scope="row" className={`${cellClass('text')} max-w-56 truncate font-normal`}>
            {share.name}
          </th>
          <UseCells {...share} />
        </tr>
      ))}
    </TableFrame>
  )
}

/** Adds a total row for several models. */
function withSum(shares: readonly Share[], sums: CostSums): readonly Share[] {
  return shares.length > 1 ? [...shares, { id: 'all', name: 'Total', ...sums }] : shares
}

function formatDay(day: Date): string {
  return day.toLocaleDateString('en', { day: 'numeric', month: 'long', timeZone: 'UTC' })
}
