import { useQueries } from '@tanstack/react-query'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef, useState } from 'react'
import type { FleetAgent } from '../../src/features/monitoring/fleet/schemas.ts'
import { fleetQuery, PAGE_AGENTS } from './fleet-api.ts'
import { columnsClass, FleetRow, FleetRowShape, ROW_PX } from './fleet-row.tsx'
import type { FleetSearch } from './fleet-search.ts'

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
