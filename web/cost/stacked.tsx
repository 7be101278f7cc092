import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Breaker } from '../../src/features/ai/breakers/schemas.ts'
import { api, inPath, request } from '../api/request.ts'
import { keyReportQuery } from '../keys/keys-api.ts'
import { LoadingShapes, Skeleton } from '../ui/notice.tsx'
import type { Chosen, Stack } from './explore.ts'
import { daysOfMonth, formatCost } from './figures.ts'

const StackedChart = lazy(async () => ({ default: (await import('./stacked-chart.tsx')).StackedChart }))

type StackedProps = { stack: Stack; isNothing: boolean; budget: DayBudget | null }

export function Stacked({ stack, isNothing, budget }: StackedProps) {
  if (isNothing) return <p className="px-4 pb-4 text-sm text-muted">No costs in this period</p>
  return (
    <div className="grid grid-cols-1 gap-3 px-2 pb-4 sm:px-3">
      <Suspense fallback={<ChartShape />}>
        <StackedChart stack={stack} budgetUsd={budget?.usd ?? null} />
      </Suspense>
      <ul aria-label="Legend" className="flex flex-wrap gap-x-4 gap-y-1 px-2 text-sm">
        {stack.names.map((name, index) => (
          <li key={name} className="flex min-w-0 items-center gap-2">
            <span aria-hidden className={`size-2 shrink-0 rounded-xs ${swatches[index] ?? 'bg-edge'}`} />
            <span className="min-w-0 truncate">{name}</span>
          </li>
        ))}
        {budget && (
          <li className="flex min-w-0 items-center gap-2">
            <span aria-hidden className="w-4 shrink-0 border-t-2 border-dashed border-bad" />
            <span className="min-w-0">{budget.label}</span>
          </li>
        )}
      </ul>
    </div>
  )
}

function ChartShape() {
  return (
    <LoadingShapes what="chart" className="grid grid-cols-1">
      <Skeleton className="h-60" />
    </LoadingShapes>
  )
}

const swatches = [
  'bg-[var(--plot-a)]',
  'bg-[var(--plot-c)]',
  'bg-[var(--plot-e)]',
  'bg-[var(--plot-b)]',
  'bg-[var(--plot-d)]',
]

type DayBudget = { usd: number; label: string }

/** Returns the daily cap of the selected agent, or the daily share of the selected key's monthly budget. */
export function useDayBudget({ agent, model, key }: Chosen): DayBudget | null {
  const ofAgent = Boolean(agent && agent !== 'direct' && !model && !key)
  const ofKey = Boolean(key && !model)
  const breaker = useQuery({
    queryKey: ['agents', agent, 'breaker'],
    queryFn: ({ signal }) =>
      request(Breaker, api.GET('/api/agents/{id}/breaker', { ...inPath({ id: agent ?? '' }), signal })),
    enabled: ofAgent,
    staleTime: 30_000,
  })
  const report = useQuery({ ...keyReportQuery(key ?? ''), enabled: ofKey })
  const cap = ofAgent ? breaker.data?.caps.costUsdPerDay : null
  if (cap) return { usd: cap, label: `Daily limit of the agent: ${formatCost(cap)}` }
  const monthly = ofKey ? report.data?.month.costUsd.limit : null
  if (!monthly) return null
  return {
    usd: monthly / daysOfMonth(new Date()),
    label: `Daily share of the key’s ${formatCost(monthly)} monthly budget`,
  }
}
