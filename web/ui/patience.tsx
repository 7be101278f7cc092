import { useEffect, useState } from 'react'

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
