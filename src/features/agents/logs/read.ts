import { endWith } from '../../../core/concurrency/end-with.ts'
import type { ChangeFeed } from '../../../db/changes/feed.ts'
import type { Db } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import type { EventStream } from '../../../http/streams/sse.ts'
import { findAgent, getAgent } from '../registry/list.ts'
import type { ActiveLogs, LogEntry, LogEvent, LogHistory, LogHistoryQuery } from './schemas.ts'
import { countLines, findStart, type LineReader, searchLines } from './store.ts'
import type { LogLineRow } from './tables.ts'
import type { LogViewers } from './viewers.ts'

/** What a new client gets first, and what a history without a query holds (wire-compatible with existing clients). */
const BUFFERED_LINES = 500
/** Read in one step for a stream. */
const PAGE = 200

export type ReadDeps = { db: Db; logViewers: LogViewers }
export type StreamDeps = ReadDeps & { changes: ChangeFeed; readLines: LineReader }

/** Where a stream begins, the last 500 lines when `lastId` is null, and whether its events tell times. */
export type StreamOptions = { lastId: number | null; isDetailed: boolean }

/**
 * Sends what `agentId` wrote, after the line `lastId` or the last 500 lines, and then what it writes, until the client goes
 * or the streams of the agent are stopped. A line goes out when the one before it was taken: a slow client is behind, and
 * nothing gathers for it.
 */
export async function streamLog(
  deps: StreamDeps,
  agentId: string,
  { lastId, isDetailed }: StreamOptions,
  stream: EventStream,
): Promise<void> {
  const viewer = deps.logViewers.enter(agentId)
  const { ending, release } = endWith(viewer.signal, stream.signal)
  try {
    const connected: LogEvent = { type: 'connected', agentId }
    await stream.send('line', connected)
    let last = findStart(deps.db, agentId, lastId, BUFFERED_LINES)
    while (!ending.signal.aborted) {
      const count = deps.changes.count()
      const rows = deps.readLines(agentId, last, PAGE)
      for (const row of rows) {
        if (ending.signal.aborted) return
        await stream.send('line', isDetailed ? toDetailedEvent(row) : toEvent(row), row.sequence)
        last = row.sequence
      }
      if (rows.length < PAGE) await deps.changes.changed(count, ending.signal)
    }
  } finally {
    release()
    viewer.leave()
  }
}

/** The last lines, or those that a query asks for, oldest first. @throws AppError `not_found`. */
export function getLogHistory(
  deps: ReadDeps,
  principal: Principal,
  agentId: string,
  query: LogHistoryQuery,
): LogHistory {
  getAgent(deps.db, principal, agentId)
  const limit = query.limit ?? BUFFERED_LINES
  const rows = searchLines(deps.db, agentId, { text: query.q, before: query.before, limit })
  const history: LogHistory = {
    agentId,
    lines: rows.map(({ text }) => text),
    streaming: deps.logViewers.isActive(agentId),
    clients: deps.logViewers.count(agentId),
  }
  if (Object.values(query).every((value) => value === undefined)) return history
  const nextBefore = rows.length === limit ? (rows[0]?.sequence ?? null) : null
  return { ...history, entries: rows.flatMap(toEntry), nextBefore }
}

/** Ends every stream of the agent's log; it goes on being stored. @throws AppError `not_found`. */
export function stopLogStreams(deps: ReadDeps, principal: Principal, agentId: string): void {
  deps.logViewers.stop(getAgent(deps.db, principal, agentId).id)
}

/** Whose log is followed now, of the agents that `principal` may see. */
export function listActiveLogs(deps: ReadDeps, principal: Principal): ActiveLogs {
  const streams = deps.logViewers
    .listActive()
    .filter((agentId) => findAgent(deps.db, principal, agentId) !== null)
    .map((agentId) => ({ agentId, clients: deps.logViewers.count(agentId), lines: countLines(deps.db, agentId) }))
  return { streams }
}

function toEvent(row: LogLineRow): LogEvent {
  if (row.stream === 'exit') return { type: 'exit', code: toExitCode(row) }
  return { type: 'line', text: row.text }
}

function toDetailedEvent({ stream, text, at }: LogLineRow): LogEvent {
  const writtenAt = at.toISOString()
  if (stream !== 'exit') return { type: 'line', text, at: writtenAt, stream }
  return { type: 'exit', code: toExitCode({ text }), at: writtenAt }
}

/** Null when nobody saw it. */
function toExitCode({ text }: Pick<LogLineRow, 'text'>): number | null {
  return text === '' ? null : Number(text)
}

function toEntry({ sequence, at, stream, text }: LogLineRow): LogEntry[] {
  return stream === 'exit' ? [] : [{ id: sequence, at: at.toISOString(), stream, text }]
}
