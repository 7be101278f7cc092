import { CircleAlert, CircleCheck, Info, TriangleAlert } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
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

type LoadedProps<T> = {
  query: { data: T | undefined; error: unknown; refetch: () => unknown }
  /** Noun for “Could not load …”. */
  what: string
  placeholder: ReactNode
  /** For panels without padding of their own. */
  problemClassName?: string
  children: (data: T) => ReactNode
}

/** Shows a query's data, placeholder or error. Loaded data stays when a refetch fails. */
export function Loaded<T>({ query, what, placeholder, problemClassName, children }: LoadedProps<T>) {
  if (query.data !== undefined) return children(query.data)
  if (!query.error) return <SlowAnswer onRetry={query.refetch}>{placeholder}</SlowAnswer>
  const problem = <LoadProblem what={what} error={query.error} onRetry={query.refetch} />
  return problemClassName ? <div className={problemClassName}>{problem}</div> : problem
}

const SLOW_MS = 5_000
const VERY_SLOW_MS = 15_000

/** Adds a notice after 5 s and a retry button after 15 s. */
export function SlowAnswer({ onRetry, children }: { onRetry: () => unknown; children: ReactNode }) {
  const [slowness, setSlowness] = useState<0 | 1 | 2>(0)
  const [asked, setAsked] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each retry restarts the timers
  useEffect(() => {
    const timers = [setTimeout(() => setSlowness(1), SLOW_MS), setTimeout(() => setSlowness(2), VERY_SLOW_MS)]
    return () => timers.forEach(clearTimeout)
  }, [asked])
  const retry = () => {
    setSlowness(0)
    setAsked(asked + 1)
    void onRetry()
  }
  return (
    <div className="grid grid-cols-1 gap-3">
      {children}
      <div role="status" className="flex flex-wrap items-center gap-3 text-sm text-muted empty:hidden">
        {slowness > 0 && 'The server is slow to respond.'}
        {slowness === 2 && <Button onClick={retry}>Retry</Button>}
      </div>
    </div>
  )
}

const AFTER_MS = 2_000

/** Shown once `isPending` has lasted a while. */
export function Patience({ isPending, children }: { isPending: boolean; children: string }) {
  const [isLong, setLong] = useState(false)
  useEffect(() => {
    if (!isPending) return setLong(false)
    const timer = setTimeout(() => setLong(true), AFTER_MS)
    return () => clearTimeout(timer)
  }, [isPending])
  return (
    <p role="status" className="text-center text-sm text-muted empty:hidden">
      {isLong && children}
    </p>
  )
}
