import type { ReactNode } from 'react'

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
