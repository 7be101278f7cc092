import { type PointerEvent, useMemo, useRef, useState } from 'react'
import { type Bar, type LogFilter, type LogRow, toBars } from './log-lines.ts'

const BARS = 80
const moment = new Intl.DateTimeFormat('en', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})

type Range = LogFilter['range']
type HistogramProps = { rows: readonly LogRow[]; range: Range; onRange: (range: Range) => void }

/** Dragging selects a time range; keyboard users have the time select. */
export function LogHistogram({ rows, range, onRange }: HistogramProps) {
  const bars = useMemo(() => toBars(rows, BARS), [rows])
  const boxRef = useRef<HTMLDivElement>(null)
  const [drawn, setDrawn] = useState<{ start: number; end: number } | null>(null)
  const first = bars[0]
  const last = bars.at(-1)
  if (!first || !last) return <div aria-hidden className="h-14 border-b border-line bg-surface" />
  const most = Math.max(...bars.map(countOf))
  const barAt = ({ clientX }: PointerEvent) => {
    const box = boxRef.current?.getBoundingClientRect()
    if (!box) return 0
    return Math.min(BARS - 1, Math.max(0, Math.floor(((clientX - box.left) / box.width) * BARS)))
  }
  const finish = () => {
    if (!drawn) return
    const [start, end] = [Math.min(drawn.start, drawn.end), Math.max(drawn.start, drawn.end)]
    setDrawn(null)
    onRange({ from: bars[start]?.from ?? first.from, to: bars[end]?.to ?? last.to })
  }
  const isIn = (bar: Bar, index: number) => {
    if (drawn) return index >= Math.min(drawn.start, drawn.end) && index <= Math.max(drawn.start, drawn.end)
    return !range || (bar.to > range.from && bar.from < range.to)
  }
  return (
    <figure className="border-b border-line bg-surface px-3 pt-2 pb-1 sm:px-6">
      <figcaption className="sr-only">
        {rows.length} lines from {moment.format(first.from)} to {moment.format(last.to)}
      </figcaption>
      <div
        ref={boxRef}
        aria-hidden
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          setDrawn({ start: barAt(event), end: barAt(event) })
        }}
        onPointerMove={(event) => setDrawn((known) => known && { ...known, end: barAt(event) })}
        onPointerUp={finish}
        onPointerCancel={() => setDrawn(null)}
        data-part="histogram"
        className="flex h-8 cursor-crosshair touch-pan-y items-end gap-px select-none"
      >
        {bars.map((bar, index) => (
          <div
            key={bar.from}
            title={`${moment.format(bar.from)}: ${describe(bar)}`}
            className={`flex h-full flex-1 flex-col justify-end ${isIn(bar, index) ? '' : 'opacity-30'}`}
          >
            <div className="bg-bad" style={{ height: heightOf(bar.error, most) }} />
            <div className="bg-tokens" style={{ height: heightOf(bar.warn, most) }} />
            <div className="bg-edge" style={{ height: heightOf(bar.other, most) }} />
          </div>
        ))}
      </div>
      <p aria-hidden className="flex justify-between text-xs text-muted tabular-nums">
        <span>{moment.format(first.from)}</span>
        <span>{moment.format(last.to)}</span>
      </p>
    </figure>
  )
}

function countOf({ error, warn, other }: Bar): number {
  return error + warn + other
}

function heightOf(count: number, most: number): string {
  return count === 0 ? '0' : `max(2px, ${(count / most) * 100}%)`
}

function describe(bar: Bar): string {
  const count = countOf(bar)
  const grave = bar.error > 0 ? `, ${bar.error} errors` : ''
  return `${count} ${count === 1 ? 'line' : 'lines'}${grave}`
}
