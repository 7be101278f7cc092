import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { MAX_LINES } from './log-lines.ts'
import { olderLinesQuery } from './logs-api.ts'

type OlderLogOptions = {
  /** The oldest line that came live; null reads the newest stored ones. */
  before: number | null
  isEnabled: boolean
  /** Lines that are on the page already. */
  known: number
  /** Somebody looks for something: all that is stored is read, one page after the other. */
  wantsAll: boolean
}

/** Stored lines before those that came live. A page is read when the reader comes to its end, or all when it is searched. */
export function useOlderLog(agentId: string, { before, isEnabled, known, wantsAll }: OlderLogOptions) {
  const query = useInfiniteQuery({ ...olderLinesQuery(agentId, before), enabled: isEnabled })
  const { data, hasNextPage, isFetching, isError, fetchNextPage } = query
  const rows = useMemo(() => (data?.pages ?? []).flatMap((page) => page.rows).sort((a, b) => a.id - b.id), [data])
  const isFull = known + rows.length >= MAX_LINES
  const canGoOn = hasNextPage && !isFull
  useEffect(() => {
    if (wantsAll && canGoOn && !isFetching && !isError) void fetchNextPage()
  }, [wantsAll, canGoOn, isFetching, isError, fetchNextPage])
  const readOlder = () => {
    if (canGoOn && !isFetching && !isError) void fetchNextPage()
  }
  const again = () => void (data ? fetchNextPage() : query.refetch())
  return { rows, readOlder, again, isReading: isFetching, isMore: hasNextPage, isFull, error: query.error }
}
