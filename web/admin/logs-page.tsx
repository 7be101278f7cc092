import { infiniteQueryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { LogPage, type PlatformLogLine } from '../../src/features/admin/logs/schemas.ts'
import { queryClient } from '../api/query-client.ts'
import { api, request } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Choice, SearchField } from '../ui/filters.tsx'
import { Moment } from '../ui/moment.tsx'
import { LoadProblem } from '../ui/notice.tsx'
import { Empty } from '../ui/panel.tsx'
import { AdminFrame } from './admin-frame.tsx'
import { LoadingRows, ShowMore } from './paging.tsx'

const route = getRouteApi('/signed-in/admin/logs')
const LEVELS = { debug: 'All levels', info: 'Info and above', warn: 'Warnings and errors', error: 'Errors' } as const
type Level = keyof typeof LEVELS
const FIRST: number | null = null
const FOLLOW_MS = 2000

function logsQuery(search: string, level: Level) {
  return infiniteQueryOptions({
    queryKey: ['admin', 'logs', search, level],
    queryFn: ({ signal, pageParam }) => {
      const query = { search, level, limit: 100, before: pageParam ?? undefined }
      return request(LogPage, api.GET('/api/admin/logs', { params: { query }, signal }))
    },
    initialPageParam: FIRST,
    getNextPageParam: ({ next }) => next,
  })
}

/** Page `/admin/logs`. */
export function ServerLogsPage() {
  const { search = '', level = 'info' } = route.useSearch()
  const [isFollowing, setFollowing] = useState(false)
  const navigate = useNavigate()
  const go = (next: { search?: string; level?: Level }) => {
    const wanted = { search, level, ...next }
    const params = {
      ...(wanted.search && { search: wanted.search }),
      ...(wanted.level !== 'info' && { level: wanted.level }),
    }
    void navigate({ to: '/admin/logs', search: params, replace: true })
  }
  return (
    <AdminFrame title="Logs" lead="Recent lines of the server log since startup, newest first.">
      <div className="flex flex-wrap items-center gap-3">
        <SearchField
          label="Search logs"
          placeholder="Search"
          value={search}
          maxLength={200}
          onSearch={(words) => go({ search: words })}
          className="w-full sm:max-w-md sm:flex-1"
        />
        <Choice label="Level" value={level} onChoose={(chosen) => go({ level: chosen as Level })}>
          {Object.entries(LEVELS).map(([name, label]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </Choice>
        <Button aria-pressed={isFollowing} onClick={() => setFollowing(!isFollowing)}>
          {isFollowing ? 'Pause' : 'Follow'}
        </Button>
      </div>
      <Lines search={search} level={level} isFollowing={isFollowing} />
    </AdminFrame>
  )
}

function Lines({ search, level, isFollowing }: { search: string; level: Level; isFollowing: boolean }) {
  const { data, error, refetch, ...paging } = useInfiniteQuery(logsQuery(search, level))
  useFollow(search, level, isFollowing)
  const lines = data?.pages.flatMap((page) => page.lines)
  if (!lines && error) return <LoadProblem what="log" error={error} onRetry={refetch} />
  if (!lines) return <LoadingRows what="log" />
  if (lines.length === 0) return <Empty title="No results">No log lines match your filters.</Empty>
  return (
    <>
      <ul aria-label="Log lines" className="divide-y divide-line rounded-xl border border-line bg-surface text-sm">
        {lines.map((line) => (
          <Line key={line.id} line={line} />
        ))}
      </ul>
      <ShowMore what="lines" error={error} {...paging} />
    </>
  )
}

/** Prepends lines logged since the last response. */
function useFollow(search: string, level: Level, isFollowing: boolean): void {
  const { queryKey } = logsQuery(search, level)
  const { data } = useQuery({
    queryKey: [...queryKey, 'follow'],
    queryFn: ({ signal }) => {
      const after = queryClient.getQueryData(queryKey)?.pages[0]?.last ?? 0
      const query = { search, level, limit: 100, after }
      return request(LogPage, api.GET('/api/admin/logs', { params: { query }, signal }))
    },
    enabled: isFollowing,
    refetchInterval: FOLLOW_MS,
  })
  useEffect(() => {
    if (!data) return
    queryClient.setQueryData(queryKey, (known) => {
      const [first, ...rest] = known?.pages ?? []
      if (!known || !first || data.last <= first.last) return known
      return { ...known, pages: [{ ...first, lines: [...data.lines, ...first.lines], last: data.last }, ...rest] }
    })
  }, [data, queryKey])
}

function Line({ line: { level, time, message, fields } }: { line: PlatformLogLine }) {
  const entries = Object.entries(fields)
  const tone = level === 'error' || level === 'fatal' ? 'problem' : level === 'warn' ? 'warning' : undefined
  return (
    <li className="grid grid-cols-1 gap-1 px-3 py-2 sm:px-4">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        {time && (
          <span className="text-muted">
            <Moment at={time} as="minute" />
          </span>
        )}
        <Badge {...(tone && { tone })}>{level}</Badge>
        <span className="min-w-0 break-words">{message}</span>
      </p>
      {entries.length > 0 && (
        <p className="font-mono text-xs break-all text-muted">
          {entries
            .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
            .join(' ')}
        </p>
      )}
    </li>
  )
}
