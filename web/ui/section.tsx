import type { ReactNode } from 'react'

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
