import { and, count, desc, eq, lt, or, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { readPage } from '../../../db/pages/read-page.ts'
import { write } from '../../../db/write.ts'
import { type LifecycleDeps, stopAgent } from '../../agents/deployments/lifecycle.ts'
import { getAgent } from '../../agents/registry/list.ts'
import { shownStatus, toShownError } from '../../agents/registry/status.ts'
import { agents } from '../../agents/registry/tables.ts'
import { users } from '../../people/users/tables.ts'
import { type Administrator, audit } from '../administration/change-account.ts'
import type { AgentsQuery, OverseenAgent, OverseenAgentList } from './schemas.ts'

/** A page of everybody's agents, newest first. @throws AppError `invalid` when `after` is no agent. */
export function listAllAgents(db: Db, { search, status, limit, after }: AgentsQuery): OverseenAgentList {
  const fits = matchesSearch(search)
  const isWanted = status && eq(shownStatus, status)
  const isOlder = after === undefined ? undefined : isOlderThan(db, after)
  const { rows, last } = readPage(
    selectAgents(db)
      .where(and(fits, isWanted, isOlder))
      .orderBy(desc(agents.createdAt), desc(agents.id)),
    limit,
  )
  return { agents: rows.map(toOverseenAgent), statuses: countStatuses(db, fits), next: last?.id ?? null }
}

/**
 * Stops somebody's agent and keeps its data, as its owner can. The line in the audit log says what was ordered, and is
 * there before the runtime is asked.
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
    lastError: toShownError(row.status, row),
    owner: ownerId === null ? null : { id: ownerId, email: email ?? ownerId },
    createdAt: createdAt.toISOString(),
  }
}

function countStatuses(db: Db, fits: SQL | undefined): OverseenAgentList['statuses'] {
  const rows = db
    .select({ status: shownStatus, agents: count() })
    .from(agents)
    .leftJoin(users, eq(users.id, agents.ownerId))
    .where(fits)
    .groupBy(shownStatus)
    .all()
  return Object.fromEntries(rows.map((row) => [row.status, row.agents]))
}

/** Signs that mean something to LIKE mean themselves here. */
function matchesSearch(search: string): SQL | undefined {
  if (search === '') return undefined
  return sql`(instr(lower(${agents.name}), ${search}) > 0 OR instr(${agents.id}, ${search}) > 0 OR instr(${users.email}, ${search}) > 0)`
}

function isOlderThan(db: Db, id: string): SQL | undefined {
  const last = db.select({ createdAt: agents.createdAt }).from(agents).where(eq(agents.id, id)).get()
  if (!last) throw new AppError('invalid', 'after is not an agent')
  return or(lt(agents.createdAt, last.createdAt), and(eq(agents.createdAt, last.createdAt), lt(agents.id, id)))
}
