import { useQuery } from '@tanstack/react-query'
import { LimitBar } from '../ui/limit-bar.tsx'
import { LoadProblem, Skeleton } from '../ui/notice.tsx'
import { monthQuery } from './cost-api.ts'
import { forecastEnd, forecastSum, formatCompact, formatCount } from './figures.ts'

export function MonthMeter() {
  const { data, error, refetch } = useQuery(monthQuery)
  if (error) return <LoadProblem what="this month’s tokens" error={error} onRetry={refetch} />
  if (!data) return <Skeleton className="h-16 rounded-xl" />
  const { used, limit } = data.tokens
  const ends = formatDay(new Date(data.windowEnd))
  if (limit === null) {
    return (
      <p className="rounded-xl border border-line bg-surface px-4 py-3.5 text-sm text-muted">
        <span className="font-medium text-ink tabular-nums">{formatCount(used)}</span> tokens this month. Your plan has
        no token limit.
      </p>
    )
  }
  if (limit === 0) {
    return (
      <p className="rounded-xl border border-line bg-surface px-4 py-3.5 text-sm text-muted">
        No tokens available: you have no plan.
        {used > 0 && ` ${formatCount(used)} used this month.`}
      </p>
    )
  }
  const now = new Date()
  const atEnd = forecastSum(used, now)
  const usedUp = forecastEnd(used, limit, now)
  return (
    <div className="grid grid-cols-1 gap-2 rounded-xl border border-line bg-surface px-4 py-3.5">
      <LimitBar label="Tokens used this month" used={used} limit={limit} note={`Resets on ${ends}`}>
        <span className="font-medium tabular-nums" title={formatCount(used)}>
          {formatCompact(used)}
        </span>{' '}
        of {formatCompact(limit)} tokens used this month
      </LimitBar>
      {usedUp ? (
        <p className="text-sm text-warn">Limit reached by {formatDay(usedUp)}.</p>
      ) : (
        atEnd !== null &&
        used < limit && <p className="text-sm text-muted">Projected: {formatCompact(atEnd)} tokens by month end.</p>
      )}
    </div>
  )
}

function formatDay(day: Date): string {
  return day.toLocaleDateString('en', { day: 'numeric', month: 'long', timeZone: 'UTC' })
}
