import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { memo, useLayoutEffect, useRef, useState } from 'react'
import type { FleetAgent } from '../../src/features/monitoring/fleet/schemas.ts'
import { LazyAgentMenu } from '../agents/agent-menu.tsx'
import { useChangeAgent } from '../agents/agents-api.ts'
import { FieldMark } from '../agents/field-mark.tsx'
import { isOfflineModel, nameModel, offlineModelWarning } from '../agents/model-field.tsx'
import { StatusBadge } from '../agents/status-badge.tsx'
import { messageFor } from '../api/request.ts'
import type { FleetSearch } from '../routes/searches.ts'
import { Badge } from '../ui/badge.tsx'
import { Moment } from '../ui/moment.tsx'
import { Skeleton } from '../ui/notice.tsx'
import { LabelsDialog } from './bulk-bar.tsx'
import { fleetQuery, PAGE_AGENTS } from './fleet-api.ts'

type FleetListProps = {
  search: FleetSearch
  total: number
  /** The first agents, as far as they are loaded. */
  first: readonly FleetAgent[]
  chosen: ReadonlySet<string>
  onChoose: (id: string, isChosen: boolean) => void
}

/** Virtualized: only visible rows are rendered. */
export function FleetList({ search, total, first, chosen, onChoose }: FleetListProps) {
  const listRef = useRef<HTMLUListElement>(null)
  const [top, setTop] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the content above the list changes with the filters
  useLayoutEffect(() => {
    const box = listRef.current?.getBoundingClientRect()
    if (box) setTop(box.top + window.scrollY)
  }, [search, total])
  const virtualizer = useWindowVirtualizer({
    count: total,
    estimateSize: () => ROW_PX,
    overscan: 4,
    scrollMargin: top,
  })
  const rows = virtualizer.getVirtualItems()
  const pages = [...new Set(rows.map(({ index }) => Math.floor(index / PAGE_AGENTS)))]
  const read = useQueries({ queries: pages.map((page) => fleetQuery(search, page)) })
  const agentAt = (index: number) =>
    read[pages.indexOf(Math.floor(index / PAGE_AGENTS))]?.data?.agents[index % PAGE_AGENTS] ?? first[index]
  return (
    <div className="rounded-xl border border-line bg-surface">
      <ColumnNames />
      <ul ref={listRef} aria-label="Your agents" className="relative" style={{ height: virtualizer.getTotalSize() }}>
        {rows.map(({ index, start }) => {
          const agent = agentAt(index)
          return (
            <li
              key={agent?.id ?? index}
              aria-setsize={total}
              aria-posinset={index + 1}
              className="absolute inset-x-0 top-0 border-line not-[[aria-posinset='1']]:border-t"
              style={{ height: ROW_PX, transform: `translateY(${start - top}px)` }}
            >
              {agent ? (
                <FleetRow agent={agent} isChosen={chosen.has(agent.id)} onChoose={onChoose} />
              ) : (
                <FleetRowShape />
              )}
            </li>
          )
        })}
      </ul>
    </div>
  )
}

/** Hidden from screen readers, because each row labels its figures. */
function ColumnNames() {
  return (
    <div aria-hidden className={`${columnsClass} min-h-9 border-b border-line text-xs text-muted max-lg:hidden`}>
      <span className="col-span-2" />
      <span>Agent</span>
      <span>Status</span>
      <span>Last 30 hours</span>
      <span className="text-right">Messages</span>
      <span className="text-right">Cost</span>
      <span className="text-right">Last activity</span>
    </div>
  )
}

/** Fixed, so that a list of thousands can be virtualized. */
const ROW_PX = 68

const count = new Intl.NumberFormat('en')
const usd = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD' })

/** Table columns; on a phone the figures wrap below the name. */
const columnsClass =
  'grid grid-cols-[1.25rem_2.25rem_minmax(0,1fr)_2.25rem] items-center gap-x-2 px-3 sm:gap-x-3 sm:px-4 lg:grid-cols-[1.25rem_2.25rem_minmax(0,1fr)_7rem_7.5rem_4.5rem_4.5rem_6rem_2.25rem]'

type FleetRowProps = { agent: FleetAgent; isChosen: boolean; onChoose: (id: string, isChosen: boolean) => void }

const FleetRow = memo(function FleetRow({ agent, isChosen, onChoose }: FleetRowProps) {
  const change = useChangeAgent(agent.id)
  const [isLabelling, setLabelling] = useState(false)
  return (
    <div className={`h-full max-lg:grid-rows-[1.5rem_1.25rem] max-lg:content-center max-lg:gap-y-0.5 ${columnsClass}`}>
      <input
        type="checkbox"
        aria-label={`Select ${agent.name}`}
        checked={isChosen}
        onChange={(event) => onChoose(agent.id, event.target.checked)}
        className="size-4.5 accent-accent max-lg:row-span-2"
      />
      <FieldMark seed={agent.id} className="size-9 max-lg:row-span-2" />
      <div className="grid min-w-0 grid-cols-1">
        <div className="flex min-w-0 items-center gap-2">
          <Link
            to="/agents/$agentId"
            params={{ agentId: agent.id }}
            className="max-w-full shrink-0 truncate font-medium hover:underline"
          >
            {agent.name}
          </Link>
          {agent.labels.length > 0 && <Labels labels={agent.labels} />}
        </div>
        <p className="truncate text-sm text-muted max-lg:hidden">
          <Note agent={agent} problem={change.error && messageFor(change.error)} />
        </p>
      </div>
      <div className="min-w-0 items-center gap-x-1.5 overflow-hidden whitespace-nowrap max-lg:col-start-3 max-lg:row-start-2 max-lg:flex sm:gap-x-2.5 lg:contents">
        <span className="flex">
          <StatusBadge status={agent.status} />
        </span>
        <UptimeBar hours={agent.uptime} className="shrink-0 max-lg:w-12 sm:max-lg:w-24 lg:w-full" />
        <Figure label="messages today" className="max-sm:hidden">
          {count.format(agent.messagesToday)}
        </Figure>
        <Figure label="today">{agent.costTodayUsd === null ? 'Unknown' : usd.format(agent.costTodayUsd)}</Figure>
        <span className="text-right text-sm text-muted max-sm:hidden">
          {agent.lastActivity ? <Moment at={agent.lastActivity} as="distance" /> : 'Never'}
        </span>
      </div>
      <div className="max-lg:col-start-4 max-lg:row-span-2 max-lg:row-start-1">
        <LazyAgentMenu agent={agent} change={change} onLabels={() => setLabelling(true)} />
      </div>
      {isLabelling && <LabelsDialog agent={agent} onClose={() => setLabelling(false)} />}
    </div>
  )
})

/** Labels that do not fit wrap out of sight. */
function Labels({ labels }: { labels: readonly string[] }) {
  return (
    <span
      title={labels.join(', ')}
      className="flex h-6 min-w-0 flex-wrap items-center gap-x-1 overflow-hidden max-sm:hidden"
    >
      <span className="h-6 w-0" />
      {labels.slice(0, 2).map((label) => (
        <Badge key={label}>{label}</Badge>
      ))}
      {labels.length > 2 && <Badge>{`+${labels.length - 2}`}</Badge>}
    </span>
  )
}

export function FleetRowShape() {
  return (
    <div aria-hidden className={`h-full ${columnsClass}`}>
      <span />
      <Skeleton className="size-9" />
      <div className="grid gap-2">
        <Skeleton className="h-4 w-40 max-w-full" />
        <Skeleton className="h-3 w-24" />
      </div>
    </div>
  )
}

function Note({ agent, problem }: { agent: FleetAgent; problem: string | null }) {
  if (problem) return <span className="text-bad">{problem}</span>
  if (agent.status === 'error' && agent.lastError) return <span title={agent.lastError}>{agent.lastError}</span>
  if (isOfflineModel(agent.model)) return <span className="text-warn">{offlineModelWarning}</span>
  return <span title={agent.model}>{nameModel(agent.model)}</span>
}

function Figure({ label, className = '', children }: { label: string; className?: string; children: string }) {
  return (
    <span className={`text-right text-sm tabular-nums max-lg:text-muted ${className}`}>
      {children}
      <span className="max-sm:sr-only lg:sr-only"> {label}</span>
    </span>
  )
}

/** Below this percentage, an hour counts as down. */
const HALF = 50

const looks = { up: 'fill-(--plot-a)', part: 'fill-(--plot-c)', down: 'fill-bad', unknown: 'fill-line' } as const

/** The newest hour is at the right; one path per colour. */
function UptimeBar({ hours, className = '' }: { hours: readonly (number | null)[]; className?: string }) {
  const paths: Record<keyof typeof looks, string> = { up: '', part: '', down: '', unknown: '' }
  for (const [index, percent] of hours.entries()) {
    const kind = percent === null ? 'unknown' : percent >= 99.95 ? 'up' : percent >= HALF ? 'part' : 'down'
    // The height differs as well as the colour.
    const top = { up: 0, part: 4, down: 10, unknown: 0 }[kind]
    paths[kind] += `M${index * 4} ${top}h3V16h-3z`
  }
  const words = describe(hours)
  return (
    <svg role="img" aria-label={words} viewBox={`0 0 ${hours.length * 4 - 1} 16`} className={`block h-4 ${className}`}>
      <title>{words}</title>
      {Object.entries(paths).map(
        ([kind, path]) => path && <path key={kind} d={path} className={looks[kind as keyof typeof looks]} />,
      )}
    </svg>
  )
}

function describe(hours: readonly (number | null)[]): string {
  const known = hours.filter((percent) => percent !== null)
  if (known.length === 0) return `Not monitored in the last ${hours.length} hours`
  const mean = known.reduce((sum, percent) => sum + percent, 0) / known.length
  return `Up ${mean.toFixed(mean < 99.95 && mean > 0.05 ? 1 : 0)}% of the last ${hours.length} hours`
}
