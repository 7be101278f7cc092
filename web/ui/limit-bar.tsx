import type { ReactNode } from 'react'

type LimitBarProps = {
  /** Accessible name. */
  label: string
  used: number
  limit: number
  /** Text above the bar at the left; `note` at the right. */
  children: ReactNode
  note?: ReactNode
}

/** Warns from 80% on. */
export function LimitBar({ label, used, limit, children, note }: LimitBarProps) {
  const percent = limit > 0 ? Math.min(100, (used / limit) * 100) : 100
  const tone = percent >= 100 ? 'bg-bad' : percent >= 80 ? 'bg-warn' : 'bg-accent'
  return (
    <div className="grid grid-cols-1 gap-2">
      <div className="flex flex-wrap justify-between gap-x-4 text-sm">
        <p>{children}</p>
        {note && <p className="text-muted">{note}</p>}
      </div>
      <meter className="sr-only" aria-label={label} min={0} max={limit} value={Math.min(used, limit)} />
      <div aria-hidden className="h-2 overflow-hidden rounded-full bg-sunken">
        <div className={`h-full rounded-full ${tone}`} style={{ width: `${percent}%` }} />
      </div>
    </div>
  )
}
