import { Link } from '@tanstack/react-router'
import { TrendingDown, TrendingUp } from 'lucide-react'
import type { Overview } from '../../src/features/admin/overview/schemas.ts'
import { formatCost } from '../cost/figures.ts'
import { Panel } from '../ui/panel.tsx'

const WEEK = 7
const HEIGHT = 40
const dayName = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' })

export function CostTrend({ days }: { days: Overview['cost'] }) {
  const [before, week] = [sumCost(days.slice(0, -WEEK)), sumCost(days.slice(-WEEK))]
  return (
    <Panel title="Cost" actions={<MoreLink to="/cost">View breakdown</MoreLink>}>
      <div className="grid gap-4 px-4 pb-4">
        <dl className="grid grid-cols-2 gap-4">
          <div>
            <dt className="text-sm text-muted">Today</dt>
            <dd className="text-xl font-semibold">{formatCost(sumCost(days.slice(-1)))}</dd>
          </div>
          <div>
            <dt className="text-sm text-muted">Last 7 days</dt>
            <dd className="flex flex-wrap items-baseline gap-x-2 text-xl font-semibold">
              {formatCost(week)}
              {before !== null && week !== null && <Trend before={before} now={week} />}
            </dd>
          </div>
        </dl>
        <Bars days={days} />
      </div>
    </Panel>
  )
}

/** Null when no cost is known. */
function sumCost(days: Overview['cost']): number | null {
  const costUsd = days.reduce((total, day) => total + (day.costUsd ?? 0), 0)
  return costUsd === 0 && days.some((day) => day.costUsd === null) ? null : costUsd
}

function Trend({ before, now }: { before: number; now: number }) {
  if (before === 0) return null
  const percent = Math.round(((now - before) / before) * 100)
  if (percent === 0) return <span className="text-sm font-normal text-muted">no change</span>
  const Icon = percent > 0 ? TrendingUp : TrendingDown
  return (
    <span
      className="inline-flex items-center gap-1 text-sm font-normal text-muted"
      title="Compared with the previous 7 days"
    >
      <Icon aria-hidden className="size-3.5" />
      {Math.abs(percent)}% {percent > 0 ? 'more' : 'less'}
    </span>
  )
}

function Bars({ days }: { days: Overview['cost'] }) {
  const most = Math.max(...days.map(({ costUsd }) => costUsd ?? 0))
  const first = days[0]?.day
  return (
    <figure className="grid gap-1">
      <svg
        role="img"
        aria-label={`Cost per day in the last ${days.length} days, at most ${formatCost(most)}`}
        viewBox={`0 0 ${days.length * 10 - 2} ${HEIGHT}`}
        preserveAspectRatio="none"
        className="h-14 w-full"
      >
        {days.map(({ day, costUsd }, index) => {
          const height = most > 0 ? Math.max(1, ((costUsd ?? 0) / most) * HEIGHT) : 1
          return (
            <rect
              key={day}
              x={index * 10}
              y={HEIGHT - height}
              width={8}
              height={height}
              className={index < days.length - WEEK ? 'fill-edge/50' : 'fill-accent'}
            >
              <title>{`${day}: ${formatCost(costUsd)}`}</title>
            </rect>
          )
        })}
      </svg>
      <figcaption className="flex justify-between text-xs text-muted">
        <span>{first && dayName.format(new Date(first))}</span>
        <span>Today</span>
      </figcaption>
    </figure>
  )
}

export function MoreLink({ to, children }: { to: '/agents' | '/cost'; children: string }) {
  return (
    <Link to={to} className="text-sm text-accent hover:underline">
      {children}
    </Link>
  )
}
