import type { Settings } from '../../src/features/accounts/settings/schemas.ts'
import { Section } from '../ui/panel.tsx'

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

export function StorageSection({ storage: { used, limit } }: { storage: Settings['storage'] }) {
  const percent = limit === 0 ? 100 : Math.min(100, (used / limit) * 100)
  const tone = percent >= 100 ? 'bg-bad' : percent >= 80 ? 'bg-warn' : 'bg-accent'
  return (
    <Section title="Storage" lead="Messages, memory, email and files of all your agents">
      <div className="grid max-w-md gap-2">
        <p className="text-sm">
          <span className="font-medium tabular-nums">{formatBytes(used)}</span> of {formatBytes(limit)} used
        </p>
        <meter className="sr-only" aria-label="Storage used" min={0} max={limit} value={Math.min(used, limit)} />
        <div aria-hidden className="h-2 overflow-hidden rounded-full bg-sunken">
          <div className={`h-full rounded-full ${tone}`} style={{ width: `${percent}%` }} />
        </div>
        {percent >= 80 && (
          <p className="text-sm text-muted">
            When storage is full, nothing new is saved until you delete data or upgrade your plan. Replies in progress
            are kept.
          </p>
        )}
      </div>
    </Section>
  )
}

/** Such as `12.3 MB`. */
export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0]
  while (value >= 1000 && unit < UNITS.length - 1) [value, unit] = [value / 1024, unit + 1]
  return `${value.toLocaleString('en', { maximumFractionDigits: unit === 0 || value >= 100 ? 0 : 1 })} ${UNITS[unit]}`
}
