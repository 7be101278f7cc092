import { Download, Pause, Play, Search } from 'lucide-react'
import { Button } from '../ui/button.tsx'
import { LEVELS, type Level, type LogFilter } from './log-lines.ts'

const levelLabels: Record<Level, string> = {
  error: 'Errors',
  warn: 'Warnings and errors',
  info: 'Info and above',
  debug: 'Lines with a level',
}
const times = [
  { label: 'Last 15 minutes', ms: 15 * 60_000 },
  { label: 'Last hour', ms: 3_600_000 },
  { label: 'Last 24 hours', ms: 24 * 3_600_000 },
]
const selectClass = 'min-h-9 min-w-0 rounded-md border border-edge bg-surface px-2 text-base text-ink sm:text-sm'

type LogToolsProps = {
  filter: LogFilter
  onFilter: (filter: LogFilter) => void
  isPaused: boolean
  onPause: (isPaused: boolean) => void
  download: { isPending: boolean; mutate: () => void }
}

export function LogTools({ filter, onFilter, isPaused, onPause, download }: LogToolsProps) {
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2.5 sm:px-6">
      <div className="relative min-w-40 flex-1 max-sm:basis-full">
        <Search
          aria-hidden
          className="pointer-events-none absolute top-1/2 left-3 size-4 -translate-y-1/2 text-muted"
        />
        <input
          type="search"
          aria-label="Search lines"
          placeholder="Search"
          value={filter.text}
          maxLength={200}
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => onFilter({ ...filter, text: event.target.value })}
          className="min-h-9 w-full rounded-md border border-edge bg-surface pr-3 pl-9 text-base text-ink placeholder:text-muted sm:text-sm"
        />
      </div>
      <select
        aria-label="Level"
        value={filter.level ?? ''}
        onChange={({ target }) =>
          onFilter({ ...filter, level: LEVELS.find((level) => level === target.value) ?? null })
        }
        className={`${selectClass} max-sm:basis-[calc(50%-0.25rem)]`}
      >
        <option value="">All levels</option>
        {LEVELS.map((level) => (
          <option key={level} value={level}>
            {levelLabels[level]}
          </option>
        ))}
      </select>
      <TimeField filter={filter} onFilter={onFilter} />
      <Button
        aria-pressed={isPaused}
        className="min-w-24 max-sm:basis-[calc(50%-0.25rem)]"
        onClick={() => onPause(!isPaused)}
      >
        {isPaused ? <Play aria-hidden className="size-3.5" /> : <Pause aria-hidden className="size-3.5" />}
        {isPaused ? 'Follow' : 'Pause'}
      </Button>
      <Button
        Icon={Download}
        isPending={download.isPending}
        className="max-sm:basis-[calc(50%-0.25rem)]"
        onClick={() => download.mutate()}
      >
        Download
      </Button>
    </div>
  )
}

function TimeField({ filter, onFilter }: Pick<LogToolsProps, 'filter' | 'onFilter'>) {
  const choose = (value: string) => {
    const ms = Number(value)
    if (value === 'drawn') return
    const now = Date.now()
    onFilter({ ...filter, range: value === '' ? null : { from: now - ms, to: Number.POSITIVE_INFINITY } })
  }
  const isDrawn = filter.range !== null
  return (
    <select
      aria-label="Time"
      value={isDrawn ? 'drawn' : ''}
      onChange={({ target }) => choose(target.value)}
      className={`${selectClass} max-sm:basis-[calc(50%-0.25rem)]`}
    >
      <option value="">All times</option>
      {times.map(({ label, ms }) => (
        <option key={ms} value={ms}>
          {label}
        </option>
      ))}
      {isDrawn && (
        <option value="drawn">
          {filter.range?.to === Number.POSITIVE_INFINITY ? `Since ${format(filter.range.from)}` : spanOf(filter.range)}
        </option>
      )}
    </select>
  )
}

const clock = new Intl.DateTimeFormat('en', { timeStyle: 'medium', hourCycle: 'h23' })

function format(at: number): string {
  return clock.format(at)
}

function spanOf(range: LogFilter['range']): string {
  return range ? `${format(range.from)} to ${format(range.to)}` : ''
}
