import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense } from 'react'
import { AgentHistory, AgentHistoryQuery } from '../../src/features/monitoring/metrics/schemas.ts'
import { deploymentsQuery, watchdogQuery } from '../agent/agent-api.ts'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { agentQuery } from '../agents/agents-api.ts'
import { api, request } from '../api/request.ts'
import { formatCompact, formatCost, formatCount } from '../cost/figures.ts'
import { Moment } from '../ui/moment.tsx'
import { Loaded, LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { cellClass, Panel, TableFrame } from '../ui/panel.tsx'
import { type Mark, toMarks } from './marks.ts'
import type { Point } from './metric-chart.tsx'

const MetricChart = lazy(async () => ({ default: (await import('./metric-chart.tsx')).MetricChart }))

const route = getRouteApi('/signed-in/agents/$agentId/metrics')
const labels: Record<Range, { label: string; phrase: string }> = {
  '1h': { label: '1 hour', phrase: 'in the last hour' },
  '24h': { label: '24 hours', phrase: 'in the last 24 hours' },
  '7d': { label: '7 days', phrase: 'in the last 7 days (UTC)' },
  '30d': { label: '30 days', phrase: 'in the last 30 days (UTC)' },
}

/** Page `/agents/$agentId/metrics`. */
export function MetricsPage() {
  const { agentId } = route.useParams()
  return (
    <AgentFrame agentId={agentId} title="Metrics">
      {({ agent }) => <Metrics agentId={agent.id} />}
    </AgentFrame>
  )
}

function Metrics({ agentId }: { agentId: string }) {
  const { range } = route.useSearch()
  const query = useQuery(historyQuery(agentId, range))
  const isOld = query.isPlaceholderData
  return (
    <div className="mx-auto grid w-full max-w-5xl grid-cols-1 gap-6 px-4 py-6 sm:px-8">
      <RangeLinks />
      <Loaded
        query={{ data: isOld && query.error ? undefined : query.data, error: query.error, refetch: query.refetch }}
        what="usage"
        placeholder={
          <LoadingShapes what="usage" className="grid gap-6">
            <Skeleton className="h-20 rounded-xl" />
            <Skeleton className="h-52 rounded-xl" />
            <Skeleton className="h-52 rounded-xl" />
          </LoadingShapes>
        }
      >
        {(history) => (
          <div aria-busy={isOld} className={`grid grid-cols-1 gap-6 transition-opacity ${isOld ? 'opacity-50' : ''}`}>
            <Shown agentId={agentId} history={history} />
          </div>
        )}
      </Loaded>
    </div>
  )
}

function RangeLinks() {
  return (
    <nav aria-label="Range" className="flex gap-0.5 justify-self-start rounded-lg bg-sunken p-0.5">
      {RANGES.map((range) => (
        <Link
          key={range}
          to="."
          search={{ range }}
          replace
          activeOptions={{ includeSearch: true }}
          className="inline-flex min-h-8 items-center rounded-md border border-transparent px-2.5 text-sm font-medium text-muted hover:text-ink aria-[current=page]:border-line aria-[current=page]:bg-surface aria-[current=page]:text-ink aria-[current=page]:shadow-xs"
        >
          {labels[range].label}
        </Link>
      ))}
    </nav>
  )
}

function Shown({ agentId, history }: { agentId: string; history: AgentHistory }) {
  const deployments = useQuery(deploymentsQuery(agentId)).data ?? []
  const events = useQuery(watchdogQuery(agentId)).data?.events ?? []
  const { totals, range, load, use } = history
  const from = Date.parse(load[0]?.at ?? '')
  const marks = toMarks(deployments, events, from)
  const isShort = range === '1h' || range === '24h'
  const loadOf = (name: 'cpu' | 'memory') => load.map((part): Point => ({ at: Date.parse(part.at), value: part[name] }))
  const partsOf = (name: 'messages' | 'tokens' | 'costUsd') =>
    use.map((part): Point => ({ at: Date.parse(part.at), value: part[name] }))
  const loadChart = { marks, formatTime: isShort ? clock : dayAndHour, format: toPercent, shape: 'line' as const }
  const useChart = { marks, formatTime: isShort ? clock : day, shape: 'bars' as const }
  return (
    <>
      <Totals totals={totals} phrase={labels[range].phrase} />
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-2">
        <Figure title="CPU" note="of one core" points={loadOf('cpu')} fill="var(--accent)" {...loadChart} />
        <Figure title="Memory" note="of its limit" points={loadOf('memory')} fill="var(--plot-e)" {...loadChart} />
        <Figure
          title="Messages"
          points={partsOf('messages')}
          fill="var(--plot-b)"
          format={formatCount}
          isCount
          {...useChart}
        />
        <Figure
          title="Tokens"
          points={partsOf('tokens')}
          fill="var(--tokens)"
          format={formatCompact}
          isCount
          {...useChart}
        />
        <Figure title="Cost" points={partsOf('costUsd')} fill="var(--accent)" format={formatCost} {...useChart} />
        <Marks marks={marks} />
      </div>
      <Panel title="Show as table">
        <UseTable history={history} />
      </Panel>
    </>
  )
}

type FigureProps = Parameters<typeof MetricChart>[0] & { note?: string }

function Figure({ note, ...chart }: FigureProps) {
  const isMeasured = chart.points.some(({ value }) => value !== null)
  const isNothing = chart.shape === 'bars' && chart.points.every(({ value }) => value === 0)
  return (
    <Panel title={chart.title} actions={note && <span className="text-sm text-muted">{note}</span>}>
      <div className="min-h-44 px-2 pb-3 sm:px-3">
        {!isMeasured || isNothing ? (
          <p className="px-2 text-sm text-muted">{isNothing ? 'No data in this period.' : 'No data in this period.'}</p>
        ) : (
          <Suspense
            fallback={
              <LoadingShapes what="chart" className="grid grid-cols-1">
                <Skeleton className="h-36" />
              </LoadingShapes>
            }
          >
            <MetricChart {...chart} />
          </Suspense>
        )}
      </div>
    </Panel>
  )
}

function Totals({ totals, phrase }: { totals: AgentHistory['totals']; phrase: string }) {
  const failed = totals.failed > 0 ? `, ${formatCount(totals.failed)} failed` : ''
  return (
    <section aria-label="Total">
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-xl border border-line bg-line lg:grid-cols-4">
        <Total label="Messages" value={formatCount(totals.messages)} note={`received ${phrase}${failed}`} />
        <Total label="Model calls" value={formatCount(totals.calls)} note="a message can take several" />
        <Total label="Tokens" value={formatCompact(totals.tokens)} note="input and output" />
        <Total label="Cost" value={formatCost(totals.costUsd)} note="of these calls" />
      </dl>
    </section>
  )
}

function Total({ label, value, note }: { label: string; value: string; note: ReactNode }) {
  return (
    <div className="grid content-start gap-0.5 bg-surface px-4 py-3">
      <dt className="text-sm text-muted">{label}</dt>
      <dd className="grid">
        <span className="truncate text-lg font-semibold tabular-nums">{value}</span>
        <span className="text-xs text-muted">{note}</span>
      </dd>
    </div>
  )
}

function Marks({ marks }: { marks: readonly Mark[] }) {
  return (
    <Panel title="Events">
      {marks.length === 0 ? (
        <p className="px-4 pb-4 text-sm text-muted">No deployments or crashes in this period.</p>
      ) : (
        <section
          aria-label="Deployments and crashes"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
          tabIndex={0}
          className="max-h-44 overflow-y-auto border-t border-line -outline-offset-2"
        >
          <ol className="divide-y divide-line text-sm">
            {marks.toReversed().map(({ at, kind, text }) => (
              <li key={`${at} ${text}`} className="flex items-baseline justify-between gap-4 px-4 py-2">
                <span className="flex items-center gap-2">
                  <span
                    aria-hidden
                    className={`h-3 w-0 border-l-2 ${kind === 'crash' ? 'border-dotted border-bad' : 'border-dashed border-accent'}`}
                  />
                  {text}
                </span>
                <span className="text-muted">
                  <Moment at={new Date(at).toISOString()} as="minute" />
                </span>
              </li>
            ))}
          </ol>
        </section>
      )}
    </Panel>
  )
}

const useColumns = {
  From: 'text',
  Messages: 'number',
  Failed: 'number',
  Calls: 'number',
  Tokens: 'number',
  Cost: 'number',
} as const

function UseTable({ history }: { history: AgentHistory }) {
  const isShort = history.useSeconds < 86_400
  return (
    <TableFrame label="Messages, calls, tokens and cost" columns={useColumns}>
      {history.use.toReversed().map((part) => (
        <UseRow key={part.at} part={part} isShort={isShort} />
      ))}
    </TableFrame>
  )
}

function UseRow({ part, isShort }: { part: AgentHistory['use'][number]; isShort: boolean }) {
  return (
    <tr>
      <th scope="row" className={`${cellClass('text')} font-normal whitespace-nowrap`}>
        {isShort ? <Moment at={part.at} as="minute" /> : day(Date.parse(part.at))}
      </th>
      <td className={cellClass('number')}>{formatCount(part.messages)}</td>
      <td className={cellClass('number')}>{formatCount(part.failed)}</td>
      <td className={cellClass('number')}>{formatCount(part.calls)}</td>
      <td className={cellClass('number')}>{formatCount(part.tokens)}</td>
      <td className={cellClass('number')}>{formatCost(part.costUsd)}</td>
    </tr>
  )
}

const clockFormat = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const dayAndHourFormat = new Intl.DateTimeFormat('en', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  hourCycle: 'h23',
})
/** Usage is counted by UTC days. */
const dayFormat = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })

function clock(at: number): string {
  return clockFormat.format(at)
}

function dayAndHour(at: number): string {
  return dayAndHourFormat.format(at)
}

function day(at: number): string {
  return dayFormat.format(at)
}

function toPercent(value: number): string {
  return `${Math.round(value * 10) / 10}%`
}

export type Range = AgentHistoryQuery['range']
export const RANGES: readonly Range[] = ['1h', '24h', '7d', '30d']

/** Keeps the last range's figures until the next ones arrive. */
export function historyQuery(agentId: string, range: Range) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'metrics', range],
    queryFn: ({ signal }) =>
      request(
        AgentHistory,
        api.GET('/api/agents/{id}/metrics', { params: { path: { id: agentId }, query: { range } }, signal }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: range === '1h' ? 30_000 : 120_000,
  })
}

export function readRange(search: Record<string, unknown>): { range: Range } {
  return { range: AgentHistoryQuery.shape.range.catch('24h').parse(search.range) }
}
