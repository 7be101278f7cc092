import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import { useStickyScroll } from '../ui/sticky-scroll.ts'
import type { LogRow } from './log-lines.ts'
import { ROW_HEIGHT, Row } from './log-row.tsx'

/** Distance in px from the first line at which older lines are loaded. */
const NEAR_TOP = 600

type LogViewProps = {
  rows: readonly LogRow[]
  search: string
  linked: number | null
  unfolded: ReadonlySet<number>
  isBusy: boolean
  isPaused: boolean
  children: ReactNode
  footer: (jumpToEnd: () => void, isAway: boolean) => ReactNode
  onToggle: (id: number) => void
  onLink: (id: number) => void
  onNearTop: () => void
  onAway: (isAway: boolean) => void
}

/** Virtualized. Not a live region, because a log never stops. */
export function LogView({ rows, search, linked, unfolded, isBusy, isPaused, children, footer, ...on }: LogViewProps) {
  const { boxRef, isAway, onScroll, jumpToEnd, leaveEnd } = useStickyScroll(rows, String(rows[0]?.id))
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => boxRef.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 12,
  })
  useShowLinked(rows, linked, (index) => {
    leaveEnd()
    virtual.scrollToIndex(index, { align: 'center' })
  })
  // Resuming scrolls to the newest lines.
  const wasPaused = useRef(isPaused)
  useEffect(() => {
    if (wasPaused.current && !isPaused) jumpToEnd()
    wasPaused.current = isPaused
  }, [isPaused, jumpToEnd])
  const { onAway } = on
  useEffect(() => onAway(isAway), [isAway, onAway])
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <div
        ref={boxRef}
        role="log"
        aria-live="off"
        aria-label="Log"
        aria-busy={isBusy}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        onScroll={() => {
          onScroll()
          if ((boxRef.current?.scrollTop ?? NEAR_TOP) < NEAR_TOP) on.onNearTop()
        }}
        className="min-h-0 flex-1 overflow-y-auto overscroll-contain bg-surface font-mono text-[0.8125rem] leading-5 -outline-offset-2 [overflow-anchor:none]"
      >
        <div>
          {children}
          <div className="relative" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map((item) => {
              const row = rows[item.index]
              return (
                row && (
                  <div
                    key={item.key}
                    ref={virtual.measureElement}
                    data-index={item.index}
                    className="absolute inset-x-0 top-0"
                    style={{ transform: `translateY(${item.start}px)` }}
                  >
                    <Row
                      row={row}
                      search={search}
                      isUnfolded={unfolded.has(row.id)}
                      isLinked={row.id === linked}
                      onToggle={on.onToggle}
                      onLink={on.onLink}
                    />
                  </div>
                )
              )
            })}
          </div>
        </div>
      </div>
      {footer(jumpToEnd, isAway)}
    </div>
  )
}

/** Scrolls to the linked line once it is loaded. */
function useShowLinked(rows: readonly LogRow[], linked: number | null, show: (index: number) => void): void {
  const shown = useRef<number | null>(null)
  useEffect(() => {
    if (linked === null || shown.current === linked) return
    const index = rows.findIndex(({ id }) => id === linked)
    if (index === -1) return
    shown.current = linked
    show(index)
  })
}
