import type { Context } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import { endWith } from '../../../core/concurrency/end-with.ts'
import type { Log } from '../../../core/log.ts'
import type { ChangeFeed } from '../../../db/changes/feed.ts'
import type { Db } from '../../../db/open.ts'
import type { BaseEnv, Principal } from '../../../http/env.ts'
import { type EventStream, type LiveStreams, liveStream } from '../../../http/streams/sse.ts'
import { findAgent, getAgent } from '../registry/agents.ts'
import type { ActiveLogs, LogEntry, LogEvent, LogHistory, LogHistoryQuery, LogStreamQuery } from './schemas.ts'
import { countLines, createLineReader, findStart, type LineReader, searchLines } from './store.ts'
import type { LogLineRow } from './tables.ts'

/** What a new client gets first, and what a history without a query holds (wire-compatible with existing clients). */
const BUFFERED_LINES = 500
/** Read in one step for a stream. */
const PAGE = 200

export type ReadDeps = { db: Db; logViewers: LogViewers }
type StreamDeps = ReadDeps & { changes: ChangeFeed; readLines: LineReader }

/** Where a stream begins, the last 500 lines when `lastId` is null, and whether its events tell times. */
type StreamOptions = { lastId: number | null; isDetailed: boolean }

/**
 * Sends what `agentId` wrote, after the line `lastId` or the last 500 lines, and then what it writes, until the client goes
 * or the streams of the agent are stopped. A line goes out when the one before it was taken: a slow client is behind, and
 * nothing gathers for it.
 */
async function streamLog(
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

export type LogRouteDeps = ReadDeps & { log: Log; changes: ChangeFeed; liveStreams: LiveStreams }

/**
 * The answer to `GET /api/logs/:agentId/stream` for both faces; `Last-Event-ID` or `after` goes on after that line.
 * @throws AppError `not_found`, `limited`.
 */
export function createLogStream(deps: LogRouteDeps) {
  const readLines = createLineReader(deps.db)
  return <Env extends BaseEnv>(c: Context<Env>, principal: Principal, agentId: string, query: LogStreamQuery) => {
    const { id } = getAgent(deps.db, principal, agentId)
    const lastId = readId(c.req.header('last-event-id')) ?? query.after ?? null
    const options = { lastId, isDetailed: query.detail === 'true' }
    return liveStream(c, deps, principal, (stream) => streamLog({ ...deps, readLines }, id, options, stream))
  }
}

function readId(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : null
}

/** An agent counts as followed until then, so that a client which comes back finds it so. */
const LINGER_MS = 30_000

type Viewed = { open: Set<AbortController>; leftAt: number }

/** Who follows which agent's log in this process. */
type LogViewers = {
  /** `signal` aborts when the streams of the agent are ended; `leave` is to be called at the end. */
  enter(agentId: string): { signal: AbortSignal; leave: () => void }
  count(agentId: string): number
  isActive(agentId: string): boolean
  listActive(): string[]
  /** Ends every stream of the agent. */
  stop(agentId: string): void
}

export function createLogViewers(clock: Clock): LogViewers {
  const viewed = new Map<string, Viewed>()
  const forgetOld = () => {
    const before = clock.now().getTime() - LINGER_MS
    for (const [agentId, { open, leftAt }] of viewed) {
      if (open.size === 0 && leftAt < before) viewed.delete(agentId)
    }
  }

  return {
    enter(agentId) {
      forgetOld()
      const found = viewed.get(agentId) ?? { open: new Set(), leftAt: 0 }
      viewed.set(agentId, found)
      const ending = new AbortController()
      found.open.add(ending)
      const leave = () => {
        found.open.delete(ending)
        found.leftAt = clock.now().getTime()
      }
      return { signal: ending.signal, leave }
    },
    count: (agentId) => viewed.get(agentId)?.open.size ?? 0,
    isActive(agentId) {
      forgetOld()
      return viewed.has(agentId)
    },
    listActive() {
      forgetOld()
      return [...viewed.keys()]
    },
    stop(agentId) {
      for (const ending of viewed.get(agentId)?.open ?? []) ending.abort()
      viewed.delete(agentId)
    },
  }
}
