import { type ReactNode, useId } from 'react'

export function Panel({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  const id = useId()
  return (
    <section aria-labelledby={id} className="min-w-0 overflow-hidden rounded-xl border border-line bg-surface">
      <div className="flex min-h-13 flex-wrap items-center justify-between gap-x-3 gap-y-1 px-4 py-2">
        <h2 id={id} className="font-semibold">
          {title}
        </h2>
        {actions}
      </div>
      {children}
    </section>
  )
}

type Kind = 'text' | 'number'
type TableFrameProps = { label: string; columns: Readonly<Record<string, Kind>>; children: ReactNode }

/** Scrolls sideways when it is too wide. */
export function TableFrame({ label, columns, children }: TableFrameProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    // biome-ignore lint/a11y/useSemanticElements: a section per table would be noise
    <div role="group" aria-label={label} tabIndex={0} className="max-h-96 overflow-auto -outline-offset-2">
      <table className="w-full border-collapse text-sm">
        <TableHead columns={columns} />
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

function TableHead({ columns }: Pick<TableFrameProps, 'columns'>) {
  return (
    <thead>
      <tr>
        {Object.entries(columns).map(([name, kind]) => (
          <th key={name} scope="col" className={headClass(kind)}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  )
}

function headClass(kind: Kind): string {
  return `sticky top-0 border-b border-line bg-surface px-4 py-2 font-medium whitespace-nowrap text-muted ${alignClass(kind)}`
}

export function cellClass(kind: Kind): string {
  return `border-b border-line px-4 py-2.5 [tr:last-child>&]:border-b-0 ${alignClass(kind)}`
}

function alignClass(kind: Kind): string {
  return kind === 'number' ? 'text-right tabular-nums whitespace-nowrap' : 'text-left'
}

type SectionProps = {
  title: string
  badge?: ReactNode
  lead?: ReactNode
  actions?: ReactNode
  tone?: 'plain' | 'danger'
  children: ReactNode
}

/** Its heading names it; a landmark for each section would be noise. */
export function Section({ title, badge, lead, actions, tone = 'plain', children }: SectionProps) {
  return (
    <section
      className={`grid min-w-0 grid-cols-1 gap-x-8 gap-y-4 rounded-xl border bg-surface p-4 sm:p-6 lg:grid-cols-[minmax(0,1fr)_minmax(0,2.1fr)] ${tone === 'danger' ? 'border-bad' : 'border-line'}`}
    >
      <div className="grid grid-cols-1 content-start justify-items-start gap-3 wrap-anywhere">
        <div className="grid grid-cols-1 gap-1">
          <h2 className="flex flex-wrap items-center gap-2.5 font-semibold">
            {title}
            {badge}
          </h2>
          {lead && <p className="text-sm text-muted">{lead}</p>}
        </div>
        {actions}
      </div>
      <div className="grid min-w-0 grid-cols-1 content-start gap-4">{children}</div>
    </section>
  )
}

export function Facts({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-1 gap-3 sm:grid-cols-2">{children}</dl>
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid min-w-0 grid-cols-1 content-start gap-0.5">
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="wrap-anywhere tabular-nums">{children}</dd>
    </div>
  )
}

export function Empty({ title, children }: { title?: string; children?: ReactNode }) {
  return (
    <div
      role="status"
      className="grid justify-items-center gap-2 rounded-xl border border-dashed border-edge px-6 py-12 text-center text-muted"
    >
      {title && <p className="font-semibold text-ink">{title}</p>}
      {children && <div className="grid max-w-lg justify-items-center gap-3">{children}</div>}
    </div>
  )
}
