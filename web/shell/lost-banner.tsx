import { LoaderCircle } from 'lucide-react'
import { useIsLost } from './connection.ts'

/** Says over every page that the server cannot be reached; it goes by itself. */
export function LostBanner() {
  const isLost = useIsLost()
  return (
    <p
      role="status"
      className="fixed top-2 left-1/2 z-30 flex w-max max-w-[calc(100%-2rem)] -translate-x-1/2 items-center gap-2 rounded-lg border border-line bg-warn-soft px-3 py-1.5 text-sm text-warn shadow-lifted empty:hidden"
    >
      {isLost && (
        <>
          <LoaderCircle aria-hidden className="size-4 shrink-0 animate-spin" />
          The connection is lost. Reconnecting…
        </>
      )}
    </p>
  )
}
