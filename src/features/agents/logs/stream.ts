import type { Context } from 'hono'
import type { Log } from '../../../core/log.ts'
import type { ChangeFeed } from '../../../db/changes/feed.ts'
import type { BaseEnv, Principal } from '../../../http/env.ts'
import { type LiveStreams, liveStream } from '../../../http/streams/sse.ts'
import { getAgent } from '../registry/list.ts'
import { type ReadDeps, streamLog } from './read.ts'
import type { LogStreamQuery } from './schemas.ts'
import { createLineReader } from './store.ts'

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
