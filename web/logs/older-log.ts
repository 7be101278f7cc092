import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { MAX_LINES } from './log-lines.ts'
import { olderLinesQuery } from './logs-api.ts'

type OlderLogOptions = {
  /** The oldest live line; null reads the newest stored ones. */
  before: number | null
  isEnabled: boolean
  /** Number of lines on the page. */
  known: number
  /** A search needs all stored lines. */
  wantsAll: boolean
}

/** Loads a page when the reader reaches its end, or all pages for a search. */
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
