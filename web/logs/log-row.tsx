import { ChevronRight, Link2 } from 'lucide-react'
import { type KeyboardEvent, memo } from 'react'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { type Level, type LogRow, splitAtMatches } from './log-lines.ts'

/** Height of a collapsed row in px. */
export const ROW_HEIGHT = 28

const clock = new Intl.DateTimeFormat('en', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
})
const day = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' })
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'long', hourCycle: 'h23' })

const inks: Record<Level, string> = {
  error: 'text-bad font-semibold',
  warn: 'text-warn font-semibold',
  info: 'text-accent',
  debug: 'text-muted',
}

type RowProps = {
  row: LogRow
  search: string
  isUnfolded: boolean
  /** Named by the page's address. */
  isLinked: boolean
  onToggle: (id: number) => void
  onLink: (id: number) => void
}

export const Row = memo(({ row, search, isUnfolded, isLinked, onToggle, onLink }: RowProps) => {
  const at = new Date(row.at)
  if (row.isNote) {
    return (
      <p className="flex h-7 items-center gap-2 border-y border-line bg-sunken px-3 font-sans text-muted sm:px-6">
        <time dateTime={at.toISOString()} title={toExact(at)} className="text-xs">
          {clock.format(at)}
        </time>
        <span className="truncate">{row.text}</span>
      </p>
    )
  }
  return (
    <div className={`${isLinked ? 'bg-accent-soft' : ''} ${isUnfolded ? 'border-y border-line' : ''}`}>
      <button
        type="button"
        aria-expanded={isUnfolded}
        onClick={() => onToggle(row.id)}
        onKeyDown={moveFocus}
        className="group flex h-7 w-full items-center gap-2 px-2 text-left -outline-offset-2 hover:bg-sunken sm:px-5"
      >
        <ChevronRight
          aria-hidden
          className={`size-3.5 shrink-0 text-muted transition-transform ${isUnfolded ? 'rotate-90' : ''}`}
        />
        <time dateTime={at.toISOString()} title={toExact(at)} className="shrink-0 text-xs text-muted">
          <span className="max-sm:sr-only">{day.format(at)} </span>
          {clock.format(at)}
        </time>
        <span className={`w-10 shrink-0 text-xs uppercase ${row.level ? inks[row.level] : ''}`}>{row.level}</span>
        <span className="min-w-0 flex-1 truncate">
          <Marked text={row.message} search={search} />
        </span>
      </button>
      {isUnfolded && <Unfolded row={row} search={search} onLink={onLink} />}
    </div>
  )
})

type UnfoldedProps = Pick<RowProps, 'row' | 'search' | 'onLink'>

function Unfolded({ row, search, onLink }: UnfoldedProps) {
  const fields = Object.entries(row.fields ?? {})
  return (
    <div className="grid grid-cols-1 gap-2 bg-sunken px-3 py-2 sm:pr-6 sm:pl-10">
      <p className="whitespace-pre-wrap wrap-anywhere">
        <Marked text={row.message} search={search} />
      </p>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-0.5">
        <Fact name="time">{new Date(row.at).toISOString()}</Fact>
        <Fact name="written to">{row.stream === 'stderr' ? 'stderr' : 'output'}</Fact>
        {fields.map(([name, value]) => (
          <Fact key={name} name={name}>
            <Marked text={typeof value === 'string' ? value : JSON.stringify(value)} search={search} />
          </Fact>
        ))}
      </dl>
      <div className="flex flex-wrap gap-2 font-sans">
        <Button Icon={Link2} onClick={() => onLink(row.id)}>
          Link to this line
        </Button>
        <CopyButton text={row.text} what="line" />
      </div>
    </div>
  )
}

/** Local time and UTC. */
function toExact(at: Date): string {
  return `${exact.format(at)}\n${at.toISOString()} (UTC)`
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="whitespace-pre-wrap wrap-anywhere">{children}</dd>
    </>
  )
}

function Marked({ text, search }: { text: string; search: string }) {
  return splitAtMatches(text, search).map((piece, index) =>
    index % 2 === 0 ? (
      piece
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no stable key and never move
      <mark key={index} className="rounded-xs bg-warn-soft text-warn">
        {piece}
      </mark>
    ),
  )
}

function moveFocus(event: KeyboardEvent<HTMLButtonElement>): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  const box = event.currentTarget.closest('[role="log"]')
  if (step === 0 || !box) return
  const buttons = [...box.querySelectorAll<HTMLElement>('button[aria-expanded]')]
  const next = buttons[buttons.indexOf(event.currentTarget) + step]
  if (!next) return
  event.preventDefault()
  next.focus()
}
