import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { Download, ScrollText } from 'lucide-react'
import type { CostDashboard } from '../../src/features/ai/usage/schemas.ts'
import { Page } from '../shell/page.tsx'
import { buttonClass } from '../ui/button.tsx'
import { Loaded, LoadingShapes, LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { byDayQuery, costQuery, daysOf, exportPath } from './cost-api.ts'
import { AgentCosts, ModelShares } from './cost-tables.tsx'
import { DailyCost } from './daily-cost.tsx'
import { type Chosen, forecastMonth } from './explore.ts'
import { Explored } from './explored.tsx'
import { forecastSum, formatCompact, formatCost, formatCount, formatShare } from './figures.ts'
import { MonthMeter } from './month-meter.tsx'
import { ReportedCosts } from './reported-costs.tsx'
import { UnusualCosts } from './unusual-costs.tsx'

const route = getRouteApi('/signed-in/cost')

const periods = [
  { period: '7d', label: '7 days', phrase: 'in the last 7 days' },
  { period: '30d', label: '30 days', phrase: 'in the last 30 days' },
  { period: 'mtd', label: 'This month', phrase: 'this month' },
] as const

/** Page `/cost`. */
export function CostPage() {
  const { period } = route.useSearch()
  const { data, error, refetch, isPlaceholderData } = useQuery(costQuery(period))
  const phrase = periods.find((candidate) => candidate.period === period)?.phrase
  return (
    <Page
      title="Cost"
      lead={`Usage of your agents and API keys ${phrase}. Days are in UTC.`}
      actions={
        <div className="flex flex-wrap items-center gap-2">
          <PeriodLinks />
          <Link to="/requests" className={buttonClass('plain')}>
            <ScrollText aria-hidden className="size-4" />
            Requests
          </Link>
          <a href={exportPath(period)} download className={buttonClass('plain')}>
            <Download aria-hidden className="size-4" />
            CSV
          </a>
        </div>
      }
    >
      <MonthMeter />
      {data && !data.isMockData && <Forecast />}
      {error && <LoadProblem what="usage" error={error} onRetry={refetch} />}
      {data && !(error && isPlaceholderData) && (
        <div
          aria-busy={isPlaceholderData}
          className={`grid grid-cols-1 gap-6 transition-opacity ${isPlaceholderData ? 'opacity-50' : ''}`}
        >
          <Figures data={data} />
        </div>
      )}
      {!data && !error && <Loading />}
    </Page>
  )
}

function Figures({ data }: { data: CostDashboard }) {
  const { summary } = data
  const { period, ...chosen } = route.useSearch()
  const navigate = useNavigate()
  const usage = useQuery(byDayQuery(daysOf(period)))
  const choose = (next: Chosen) => void navigate({ to: '/cost', search: { period, ...next } })
  return (
    <>
      {data.isMockData && (
        <Notice tone="warning" title="Sample data">
          {data.message ?? 'This is sample data. Your usage appears once an agent has answered.'}
        </Notice>
      )}
      {(summary.estimatedTokens > 0 || summary.estimatedCost > 0) && (
        <p className="text-sm text-muted">
          <span className="font-medium text-ink tabular-nums">
            {formatShare(summary.estimatedTokens, summary.totalTokens)}
          </span>{' '}
          of the tokens and {formatShare(summary.estimatedCost, summary.totalCost ?? 0)} of the cost are estimated,
          because the call was interrupted or the provider does not report usage.
        </p>
      )}
      {!data.isMockData && <CostNotes summary={summary} />}
      {data.isMockData ? (
        <Sample data={data} />
      ) : summary.totalCalls === 0 ? (
        <p className="rounded-xl border border-dashed border-edge px-6 py-12 text-center text-muted">
          No usage in this period
        </p>
      ) : (
        <Loaded query={usage} what="daily usage" placeholder={<Skeleton className="h-80 rounded-xl" />}>
          {(days) => <Explored usage={days} chosen={chosen} onChoose={choose} />}
        </Loaded>
      )}
      {!data.isMockData && <UnusualCosts />}
      {!data.isMockData && <ReportedCosts days={daysOf(period)} />}
    </>
  )
}

function CostNotes({
  summary: { cacheHitRate = 0, ownKeyCost = 0, unpricedCalls = 0 },
}: Pick<CostDashboard, 'summary'>) {
  return (
    <>
      {cacheHitRate > 0 && (
        <p className="text-sm text-muted">
          Prompt cache hit rate:{' '}
          <span className="font-medium text-ink tabular-nums">{formatShare(cacheHitRate, 1)}</span> of the input tokens.
        </p>
      )}
      {ownKeyCost > 0 && (
        <p className="text-sm text-muted">
          The total includes <span className="font-medium text-ink tabular-nums">{formatCost(ownKeyCost)}</span> paid
          directly to providers with your own keys.
        </p>
      )}
      {unpricedCalls > 0 && (
        <p className="text-sm text-muted">
          <span className="font-medium text-ink tabular-nums">{formatCount(unpricedCalls)}</span>{' '}
          {unpricedCalls === 1 ? 'call is' : 'calls are'} missing from the cost because the model has no price. An
          administrator can set it in Admin → Services.
        </p>
      )}
    </>
  )
}

/** Sample figures until the account has its own. */
function Sample({ data }: { data: CostDashboard }) {
  const { summary } = data
  return (
    <>
      <dl className="grid grid-cols-2 overflow-hidden rounded-xl border border-line bg-line gap-px lg:grid-cols-4">
        <Tile label="Total cost" value={formatCost(summary.totalCost)} exact={`$${summary.totalCost}`} />
        <Tile label="Tokens" value={formatCompact(summary.totalTokens)} exact={formatCount(summary.totalTokens)} />
        <Tile label="Calls" value={formatCount(summary.totalCalls)} />
        <Tile
          label="Average per call"
          value={formatCost(summary.avgCostPerCall)}
          exact={`$${summary.avgCostPerCall}`}
        />
      </dl>
      <DailyCost daily={data.daily} />
      <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1.7fr)_minmax(0,1fr)]">
        <AgentCosts agents={data.agents} />
        <ModelShares models={data.modelBreakdown} />
      </div>
    </>
  )
}

/** Renders nothing while too little is known. */
function Forecast() {
  const { data, isPending } = useQuery(byDayQuery(daysOf('mtd')))
  const now = new Date()
  // Reserves space so that the figures do not move; on the first of a month there is no forecast.
  if (isPending) return forecastSum(1, now) === null ? null : <Skeleton className="h-10 sm:h-5" />
  const forecast = data && forecastMonth(data.rows, now)
  if (!forecast) return null
  return (
    <p className="text-sm text-muted">
      <span className="font-medium text-ink tabular-nums">{formatCost(forecast.soFar)}</span> this month. Projected:{' '}
      <span className="font-medium text-ink tabular-nums">{formatCost(forecast.atEnd)}</span> by month end.
    </p>
  )
}

function PeriodLinks() {
  return (
    <nav aria-label="Period" className="flex gap-0.5 rounded-lg bg-sunken p-0.5">
      {periods.map(({ period, label }) => (
        <Link
          key={period}
          to="/cost"
          search={{ period }}
          replace
          className="inline-flex min-h-8 items-center rounded-md border border-transparent px-2.5 text-sm font-medium text-muted hover:text-ink aria-[current=page]:border-line aria-[current=page]:bg-surface aria-[current=page]:text-ink aria-[current=page]:shadow-xs"
        >
          {label}
        </Link>
      ))}
    </nav>
  )
}

function Tile({ label, value, exact }: { label: string; value: string; exact?: string }) {
  return (
    <div className="grid gap-1 bg-surface px-4 py-3.5">
      <dt className="text-sm text-muted">{label}</dt>
      <dd title={exact} className="truncate text-xl font-semibold tabular-nums sm:text-2xl">
        {value}
      </dd>
    </div>
  )
}

function Loading() {
  return (
    <LoadingShapes what="usage" className="grid gap-6">
      <Skeleton className="h-20 rounded-xl" />
      <Skeleton className="h-80 rounded-xl" />
      <Skeleton className="h-40 rounded-xl" />
    </LoadingShapes>
  )
}
