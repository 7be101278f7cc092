import type { Context } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import { endWith } from '../../../core/concurrency/race.ts'
import type { Log } from '../../../core/log.ts'
import type { ChangeFeed } from '../../../db/changes.ts'
import type { Db } from '../../../db/open.ts'
import type { BaseEnv, Principal } from '../../../http/env.ts'
import { type EventStream, type LiveStreams, liveStream } from '../../../http/streams/sse.ts'
import { findAgent, getAgent } from '../registry/agents.ts'
import type { ActiveLogs, AgentLogEntry, LogEvent, LogHistory, LogHistoryQuery, LogStreamQuery } from './schemas.ts'
import { countLines, createLineReader, findStart, type LineReader, searchLines } from './store.ts'
import type { LogLineRow } from './tables.ts'

/** Lines that a new client or an unfiltered history gets; existing clients expect this number. */
const BUFFERED_LINES = 500
/** Lines read in one step of a stream. */
const PAGE = 200

/** A stream starts after `lastId`, or with the last 500 lines when it is null; `isDetailed` adds times. */
type StreamOptions = { lastId: number | null; isDetailed: boolean }

/**
 * Sends an agent's output after the line `lastId`, or the last 500 lines, and then new lines, until the client leaves
 * or the agent's streams are stopped. Each line waits until the previous one was taken, so a slow client costs no
 * memory.
 */
async function streamLog(
  deps: { db: Db; logViewers: LogViewers; changes: ChangeFeed; readLines: LineReader },
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

/** Returns the last lines, or those that match a query, oldest first. @throws AppError `not_found`. */
export function getLogHistory(
  deps: { db: Db; logViewers: LogViewers },
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

/** Ends every stream of the agent's log; storing continues. @throws AppError `not_found`. */
export function stopLogStreams(deps: { db: Db; logViewers: LogViewers }, principal: Principal, agentId: string): void {
  deps.logViewers.stop(getAgent(deps.db, principal, agentId).id)
}

/** Lists the followed logs of agents that `principal` may see. */
export function listActiveLogs(deps: { db: Db; logViewers: LogViewers }, principal: Principal): ActiveLogs {
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

/** Returns the exit code; null when it is unknown. */
function toExitCode({ text }: Pick<LogLineRow, 'text'>): number | null {
  return text === '' ? null : Number(text)
}

function toEntry({ sequence, at, stream, text }: LogLineRow): AgentLogEntry[] {
  return stream === 'exit' ? [] : [{ id: sequence, at: at.toISOString(), stream, text }]
}

/**
 * Handles `GET /api/logs/:agentId/stream` of both APIs; `Last-Event-ID` or `after` resumes after that line.
 * @throws AppError `not_found`, `limited`.
 */
export function createLogStream(deps: {
  db: Db
  log: Log
  logViewers: LogViewers
  changes: ChangeFeed
  liveStreams: LiveStreams
}) {
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

/** An agent counts as followed for this long after its last client left, for clients that reconnect. */
const LINGER_MS = 30_000

type Viewed = { open: Set<AbortController>; leftAt: number }

/** Tracks the clients that follow logs in this process. */
export type LogViewers = {
  /** Registers a client. `signal` aborts when the agent's streams are stopped; `leave` must be called at the end. */
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
