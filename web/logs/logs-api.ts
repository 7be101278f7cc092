import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { LogHistory } from '../../src/features/agents/logs/schemas.ts'
import { request } from '../api/request.ts'

const PAGE = 200

/** A page of stored lines: those with `text` in them, older than the line `before`; the newest when it is null. */
export type LogPage = { text: string; before: number | null }

/** Stored lines of an agent; asked for when somebody looks, and not again by itself. */
export function historyQuery(agentId: string, { text, before }: LogPage) {
  const query = { limit: String(PAGE), ...(text && { q: text }), ...(before !== null && { before: String(before) }) }
  return queryOptions({
    queryKey: ['logs', agentId, text, before],
    queryFn: async ({ signal }) => {
      const { entries = [], nextBefore = null } = await readLogs(agentId, query, signal)
      return { entries, nextBefore }
    },
    placeholderData: keepPreviousData,
    gcTime: 0,
  })
}

/** @throws ApiError with why the logs cannot be read. */
export function readLogs(agentId: string, query: Record<string, string>, signal: AbortSignal) {
  return request(LogHistory, `${logsPath(agentId)}/history?${new URLSearchParams(query)}`, { signal })
}

/** Where the server sends what an agent writes. */
export function streamPath(agentId: string): string {
  return `${logsPath(agentId)}/stream`
}

function logsPath(agentId: string): string {
  return `/api/logs/${encodeURIComponent(agentId)}`
}
