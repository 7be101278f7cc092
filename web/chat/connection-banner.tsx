import { useQuery, useQueryClient } from '@tanstack/react-query'
import { LoaderCircle } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { ApiError } from '../api/request.ts'
import { useIsLost } from '../shell/connection.ts'
import { newMessagesQuery, type Place, runningTurnsQuery } from './chat-api.ts'

/** Reloads missed messages once the server is reachable again. `isStreamLost` is about the reply in progress. */
export function ConnectionBanner({ place, isStreamLost }: { place: Place; isStreamLost: boolean }) {
  const client = useQueryClient()
  const { error } = useQuery(runningTurnsQuery(place.agentId))
  const isLostEverywhere = useIsLost()
  const isLost = isStreamLost || isLostEverywhere || (error instanceof ApiError && error.status === 0)
  const wasLost = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once per reconnect
  useEffect(() => {
    if (wasLost.current && !isLost) {
      void client.invalidateQueries(runningTurnsQuery(place.agentId))
      void client.invalidateQueries(newMessagesQuery(client, place))
    }
    wasLost.current = isLost
  }, [isLost])
  return (
    <p
      role="status"
      className="absolute top-2 left-1/2 z-10 flex w-max max-w-[calc(100%-2rem)] -translate-x-1/2 items-center gap-2 rounded-lg border border-line bg-warn-soft px-3 py-1.5 text-sm text-warn shadow-lifted empty:hidden"
    >
      {isLost && !isLostEverywhere && (
        <>
          <LoaderCircle aria-hidden className="size-4 shrink-0 animate-spin" />
          Connection lost. Reconnecting…
        </>
      )}
    </p>
  )
}
