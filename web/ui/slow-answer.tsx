import { type ReactNode, useEffect, useState } from 'react'
import { Button } from './button.tsx'

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
