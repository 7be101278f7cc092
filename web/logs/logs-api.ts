import { infiniteQueryOptions } from '@tanstack/react-query'
import { LogHistory } from '../../src/features/agents/logs/schemas.ts'
import { api, request } from '../api/request.ts'
import { type LogRow, toStoredRow } from './log-lines.ts'

/** The server's page size. */
const PAGE = 1000

/** Pages of stored lines older than `before`, each oldest first. */
export function olderLinesQuery(agentId: string, before: number | null) {
  return infiniteQueryOptions({
    queryKey: ['logs', agentId, before],
    queryFn: ({ pageParam, signal }) => readPage(agentId, pageParam, signal),
    initialPageParam: before,
    getNextPageParam: (page: LogPage) => page.nextBefore,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
}

export type LogPage = { rows: LogRow[]; nextBefore: number | null }

/** Returns lines older than `before`, or the newest when it is null. @throws ApiError with the reason. */
export async function readPage(agentId: string, before: number | null, signal?: AbortSignal): Promise<LogPage> {
  const params = { path: { agentId }, query: { limit: PAGE, before: before ?? undefined } }
  const answer = api.GET('/api/logs/{agentId}/history', { params, ...(signal && { signal }) })
  const { entries = [], nextBefore = null } = await request(LogHistory, answer)
  return { rows: entries.map(toStoredRow), nextBefore }
}

/** Streams lines after the line `after`, or from the newest on. */
export function streamPath(agentId: string, after: string): string {
  return `${logsPath(agentId)}/stream?detail=true${after && `&after=${encodeURIComponent(after)}`}`
}

function logsPath(agentId: string): string {
  return `/api/logs/${encodeURIComponent(agentId)}`
}
