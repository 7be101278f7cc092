import { and, eq, inArray, type SQL } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { inRanges, isBehind, newestFirst, type PagePlace, readPage } from '../../../db/pages.ts'
import { write } from '../../../db/write.ts'
import { users } from '../../accounts/users/tables.ts'
import { type LifecycleDeps, stopAgent } from '../../agents/deployments/lifecycle.ts'
import { AGENTS_NEWEST_FIRST, getAgent } from '../../agents/registry/agents.ts'
import { AgentStatus } from '../../agents/registry/schemas.ts'
import { shownStatus, toShownAgentError } from '../../agents/registry/status.ts'
import { agents } from '../../agents/registry/tables.ts'
import { matchesAgent, readStateCounts } from '../../monitoring/metrics/queries.ts'
import { type Administrator, audit } from '../accounts/change-account.ts'
import type { AgentsQuery, OverseenAgent, OverseenAgentList } from './schemas.ts'

/**
 * Lists all users' agents, newest first. A search without an index runs in slices and yields to the event loop between
 * them.
 * @throws AppError `invalid` when `after` is no agent; the reason of `signal`.
 */
export async function listAllAgents(db: Db, query: AgentsQuery, signal: AbortSignal): Promise<OverseenAgentList> {
  const from = query.after === undefined ? undefined : getPlace(db, query.after)
  const { statuses, condition } = isPlain(query)
    ? { statuses: readKeptCounts(db), condition: from && isBehind(AGENTS_NEWEST_FIRST, from) }
    : await findAgents(db, query, from, signal)
  const { rows, last } = readPage(
    selectAgents(db)
      .where(condition)
      .orderBy(...newestFirst(AGENTS_NEWEST_FIRST)),
    query.limit,
  )
  return { agents: rows.map(toOverseenAgent), statuses, next: last?.id ?? null }
}

/**
 * Stops any user's agent and keeps its data. The audit entry is written before the runtime is called.
 * @throws AppError `not_found`, or as `stopAgent`.
 */
export async function stopAnyAgent(
  deps: LifecycleDeps & { clock: Clock },
  by: Administrator,
  id: string,
): Promise<OverseenAgent> {
  await write(deps.db, (tx) => {
    const { name } = getAgent(tx, { kind: 'operator' }, id)
    audit(tx, by, { action: 'agent.stop', target: id, detail: { name } }, deps.clock.now())
  })
  await stopAgent(deps, { kind: 'operator' }, id)
  const row = selectAgents(deps.db).where(eq(agents.id, id)).get()
  if (!row) throw new AppError('not_found', 'Agent not found')
  return toOverseenAgent(row)
}

function selectAgents(db: Db) {
  const { id, name, model, runtime, lastError, createdAt } = agents
  const columns = { id, name, model, runtime, lastError, createdAt, status: shownStatus }
  return db
    .select({ ...columns, ownerId: agents.ownerId, email: users.email })
    .from(agents)
    .leftJoin(users, eq(users.id, agents.ownerId))
    .$dynamic()
}

type Row = NonNullable<ReturnType<ReturnType<typeof selectAgents>['get']>>

function toOverseenAgent({ ownerId, email, createdAt, ...row }: Row): OverseenAgent {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    model: row.model,
    runtime: row.runtime,
    lastError: toShownAgentError(row.status, row),
    owner: ownerId === null ? null : { id: ownerId, email: email ?? ownerId },
    createdAt: createdAt.toISOString(),
  }
}

function isPlain({ search, status }: AgentsQuery): boolean {
  return search === '' && status === undefined
}

type Counts = OverseenAgentList['statuses']

/** Returns the maintained counters of all agents, by status. */
function readKeptCounts(db: Db): Counts {
  const counts: Counts = {}
  for (const [state, rows] of Object.entries(readStateCounts(db, 'agents'))) {
    if (rows === 0) continue
    const status = state === 'down' ? 'error' : AgentStatus.parse(state)
    counts[status] = (counts[status] ?? 0) + rows
  }
  return counts
}

/** Finds at most `limit + 1` matching ids; a search also counts all matches per status. */
async function findAgents(db: Db, query: AgentsQuery, from: PagePlace | undefined, signal: AbortSignal) {
  const { search, status, limit } = query
  const counts: Counts = {}
  const ids: string[] = []
  for await (const isInRange of inRanges(db, AGENTS_NEWEST_FIRST, search === '' ? from : undefined, signal)) {
    for (const row of findInRange(db, search, isInRange)) {
      counts[row.status] = (counts[row.status] ?? 0) + 1
      const isWanted = (status === undefined || row.status === status) && (from === undefined || isLater(row, from))
      if (isWanted && ids.length <= limit) ids.push(row.id)
    }
    if (search === '' && ids.length > limit) break
  }
  return { statuses: search === '' ? readKeptCounts(db) : counts, condition: inArray(agents.id, ids) }
}

type Found = { id: string; time: Date; status: AgentStatus }

function findInRange(db: Db, search: string, isInRange: SQL | undefined): Found[] {
  const rows = db.select({ id: agents.id, time: agents.createdAt, status: shownStatus }).from(agents).$dynamic()
  const found = search === '' ? rows : rows.leftJoin(users, eq(users.id, agents.ownerId))
  return found
    .where(and(isInRange, matchesAgent(search, { withOwner: true })))
    .orderBy(...newestFirst(AGENTS_NEWEST_FIRST))
    .all()
}

function isLater(row: Found, from: PagePlace): boolean {
  const [time, fromTime] = [row.time.getTime(), from.time.getTime()]
  return time === fromTime ? row.id < from.id : time < fromTime
}

function getPlace(db: Db, id: string): PagePlace {
  const place = db.select({ time: agents.createdAt, id: agents.id }).from(agents).where(eq(agents.id, id)).get()
  if (!place) throw new AppError('invalid', 'after is not an agent')
  return place
}
