import { infiniteQueryOptions, useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { LogEvent, LogHistory } from '../../src/features/agents/logs/schemas.ts'
import { ApiError, api, request } from '../api/request.ts'
import { whileInSight } from '../api/while-in-sight.ts'
import { filterRows, type LogFilter, type LogRow, MAX_LINES, toRow, toStoredRow, withFresh } from './log-lines.ts'

/** Batches lines, so that a flood does not block the page. */
const GATHER_MS = 120

export type LogConnection = 'connecting' | 'live' | 'interrupted' | 'refused'
type Shown = { rows: readonly LogRow[]; waiting: number }

const nothing: Shown = { rows: [], waiting: 0 }

/**
 * Follows the log: the newest lines, and the number of `waiting` ones since `isHeld`. The browser resumes after an
 * interruption without losing lines; `error` says why the server refused, `again` retries.
 */
export function useLiveLog(agentId: string, isHeld: boolean) {
  const [attempt, setAttempt] = useState(0)
  const [connection, setConnection] = useState<LogConnection>('connecting')
  const [error, setError] = useState<unknown>(null)
  const [shown, setShown] = useState(nothing)
  const fresh = useRef<LogRow[]>([])
  const held = useRef(isHeld)

  const show = useCallback(() => {
    const waiting = fresh.current
    if (held.current) return setShown(({ rows }) => ({ rows, waiting: Math.min(waiting.length, MAX_LINES) }))
    fresh.current = []
    setShown(({ rows }) => ({ rows: withFresh(rows, waiting), waiting: 0 }))
  }, [])

  useEffect(() => {
    held.current = isHeld
    if (!isHeld) show()
  }, [isHeld, show])

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt opens a new stream
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const asking = new AbortController()
    let last = ''
    fresh.current = []
    setShown(nothing)
    setConnection('connecting')
    setError(null)
    const leave = whileInSight(() => {
      const source = new EventSource(streamPath(agentId, last))
      source.addEventListener('line', ({ data, lastEventId }) => {
        const event = LogEvent.safeParse(parseJson(data))
        if (!event.success) return
        if (event.data.type === 'connected') return setConnection('live')
        last = lastEventId
        fresh.current.push(toRow(lastEventId, event.data, Date.now()))
        if (fresh.current.length > 2 * MAX_LINES) fresh.current.splice(0, MAX_LINES)
        timer ??= setTimeout(() => {
          timer = undefined
          show()
        }, GATHER_MS)
      })
      source.addEventListener('error', () => {
        if (source.readyState !== EventSource.CLOSED) return setConnection('interrupted')
        setConnection('refused')
        // EventSource hides the reason of a refusal; a plain request returns it.
        readPage(agentId, null, asking.signal)
          .then(() => setError(new ApiError(0, 'Live lines are unavailable. Stored lines can still be read.')))
          .catch((reason) => asking.signal.aborted || setError(reason))
      })
      return source
    })
    return () => {
      leave()
      asking.abort()
      clearTimeout(timer)
    }
  }, [agentId, attempt, show])

  return { ...shown, connection, error, again: () => setAttempt(attempt + 1) }
}

function parseJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return null
  }
}

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

/** The server's page size. */
const PAGE = 1000

/** Pages of stored lines older than `before`, each oldest first. */
function olderLinesQuery(agentId: string, before: number | null) {
  return infiniteQueryOptions({
    queryKey: ['logs', agentId, before],
    queryFn: ({ pageParam, signal }) => readPage(agentId, pageParam, signal),
    initialPageParam: before,
    getNextPageParam: (page: LogPage) => page.nextBefore,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
}

type LogPage = { rows: LogRow[]; nextBefore: number | null }

/** Returns lines older than `before`, or the newest when it is null. @throws ApiError with the reason. */
async function readPage(agentId: string, before: number | null, signal?: AbortSignal): Promise<LogPage> {
  const params = { path: { agentId }, query: { limit: PAGE, before: before ?? undefined } }
  const answer = api.GET('/api/logs/{agentId}/history', { params, ...(signal && { signal }) })
  const { entries = [], nextBefore = null } = await request(LogHistory, answer)
  return { rows: entries.map(toStoredRow), nextBefore }
}

/** Streams lines after the line `after`, or from the newest on. */
function streamPath(agentId: string, after: string): string {
  return `${logsPath(agentId)}/stream?detail=true${after && `&after=${encodeURIComponent(after)}`}`
}

function logsPath(agentId: string): string {
  return `/api/logs/${encodeURIComponent(agentId)}`
}

/** Downloads every stored line that matches `filter`, oldest first. */
export function useDownloadLog(agentId: string, name: string, filter: LogFilter) {
  return useMutation({
    mutationFn: async () => {
      const rows = filterRows(await readAll(agentId), filter)
      const text = rows.map(({ at, text }) => `${new Date(at).toISOString()} ${text}\n`).join('')
      save(new Blob([text], { type: 'text/plain' }), `${name}-${new Date().toISOString().slice(0, 10)}.log`)
      return rows.length
    },
  })
}

async function readAll(agentId: string): Promise<LogRow[]> {
  const pages: LogRow[][] = []
  for (let before: number | null = null; ; ) {
    const page = await readPage(agentId, before)
    pages.push(page.rows)
    if (page.nextBefore === null) return pages.reverse().flat()
    before = page.nextBefore
  }
}

function save(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, '-')
  link.click()
  URL.revokeObjectURL(link.href)
}
