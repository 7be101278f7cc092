import { CircleAlert, CircleCheck, Info, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { messageFor } from '../api/request.ts'
import { Button } from './button.tsx'

const tones = {
  good: { Icon: CircleCheck, className: 'bg-accent-soft text-accent' },
  note: { Icon: Info, className: 'bg-sunken text-muted' },
  warning: { Icon: TriangleAlert, className: 'bg-warn-soft text-warn' },
  problem: { Icon: CircleAlert, className: 'bg-bad-soft text-bad' },
}

type NoticeProps = { tone: keyof typeof tones; title?: string; role?: 'alert' | 'status'; children?: ReactNode }

/** A `problem` interrupts screen readers; the others do not. */
export function Notice({ tone, title, role = tone === 'problem' ? 'alert' : 'status', children }: NoticeProps) {
  const { Icon, className } = tones[tone]
  return (
    <div role={role} className={`flex gap-2.5 rounded-lg px-3.5 py-3 text-sm ${className}`}>
      <Icon aria-hidden className="mt-0.5 size-4 shrink-0" />
      <div className="grid min-w-0 flex-1 grid-cols-1 gap-1.5 break-words">
        {title && <p className="font-semibold">{title}</p>}
        {children && <div className="grid grid-cols-1 gap-2 text-ink">{children}</div>}
      </div>
    </div>
  )
}

/** Shows nothing while `error` is null. */
export function ErrorNotice({ title, error }: { title?: string; error: unknown }) {
  if (!error) return null
  return (
    <Notice tone="problem" {...(title && { title })}>
      {messageFor(error)}
    </Notice>
  )
}

export function LoadProblem({ what, error, onRetry }: { what: string; error: unknown; onRetry: () => unknown }) {
  return (
    <Notice tone="problem" title={`Could not load ${what}`}>
      <p>{messageFor(error)}</p>
      <Button className="justify-self-start" onClick={() => void onRetry()}>
        Retry
      </Button>
    </Notice>
  )
}

/** Put `aria-busy` on the region around it. */
export function Skeleton({ className }: { className: string }) {
  return <div aria-hidden className={`animate-breathe rounded-md bg-sunken ${className}`} />
}

type LoadingShapesProps = { what: string; className: string; children: ReactNode }

/** Announces the loading to screen readers. */
export function LoadingShapes({ what, className, children }: LoadingShapesProps) {
  return (
    <div aria-busy="true" className={className}>
      <p role="status" className="sr-only">
        Loading {what}
      </p>
      {children}
    </div>
  )
}
