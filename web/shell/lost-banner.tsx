import { LoaderCircle } from 'lucide-react'
import { useIsLost } from './connection.ts'

/** Does not block clicks on the page below. */
export function LostBanner() {
  const isLost = useIsLost()
  return (
    <p
      role="status"
      className="pointer-events-none fixed top-2 left-1/2 z-30 flex w-max max-w-[calc(100%-2rem)] -translate-x-1/2 items-center md:top-auto md:bottom-20 md:left-3 md:max-w-50 md:translate-x-0 gap-2 rounded-lg border border-line bg-warn-soft px-3 py-1.5 text-sm text-warn shadow-lifted empty:hidden"
    >
      {isLost && (
        <>
          <LoaderCircle aria-hidden className="size-4 shrink-0 animate-spin" />
          Connection lost. Reconnecting…
        </>
      )}
    </p>
  )
}
