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
