import { useQuery } from '@tanstack/react-query'
import { LoadProblem, Skeleton } from '../ui/notice.tsx'
import { monthQuery } from './cost-api.ts'
import { formatCompact, formatCount } from './figures.ts'

/** How much of this month's tokens is used, and when it begins anew. */
export function MonthMeter() {
  const { data, error, refetch } = useQuery(monthQuery)
  if (error) return <LoadProblem what="This month’s tokens" error={error} onRetry={refetch} />
  if (!data) return <Skeleton className="h-16 rounded-xl" />
  const { used, limit } = data.tokens
  const ends = new Date(data.windowEnd).toLocaleDateString('en', { day: 'numeric', month: 'long', timeZone: 'UTC' })
  if (limit === null) {
    return (
      <p className="rounded-xl border border-line bg-surface px-4 py-3.5 text-sm text-muted">
        <span className="font-medium text-ink tabular-nums">{formatCount(used)}</span> tokens this month. Your plan has
        no limit.
      </p>
    )
  }
  if (limit === 0) {
    return (
      <p className="rounded-xl border border-line bg-surface px-4 py-3.5 text-sm text-muted">
        You have no plan, so there are no tokens to use.
        {used > 0 && ` ${formatCount(used)} were used this month.`}
      </p>
    )
  }
  const percent = Math.min(100, (used / limit) * 100)
  const tone = percent >= 100 ? 'bg-bad' : percent >= 80 ? 'bg-warn' : 'bg-accent'
  return (
    <div className="grid gap-2 rounded-xl border border-line bg-surface px-4 py-3.5">
      <p className="flex flex-wrap justify-between gap-x-4 text-sm">
        <span>
          <span className="font-medium tabular-nums" title={formatCount(used)}>
            {formatCompact(used)}
          </span>{' '}
          of {formatCompact(limit)} tokens used this month
        </span>
        <span className="text-muted">Begins anew on {ends}</span>
      </p>
      <meter
        className="sr-only"
        aria-label="Tokens used this month"
        min={0}
        max={limit}
        value={Math.min(used, limit)}
      />
      <div aria-hidden className="h-2 overflow-hidden rounded-full bg-sunken">
        <div className={`h-full rounded-full ${tone}`} style={{ width: `${percent}%` }} />
      </div>
    </div>
  )
}
