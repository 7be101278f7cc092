import { type ReactNode, useEffect, useState } from 'react'
import { Button } from './button.tsx'
import { LoadProblem } from './notice.tsx'

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
