import { and, desc, eq, type SQL } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db } from '../../../db/open.ts'
import { isBehind, type NewestFirst, newestFirst, type Place } from '../../../db/pages/newest-first.ts'
import type { Principal } from '../../../http/env.ts'
import { type AgentRow, agents } from './tables.ts'

/** All agents the principal may see, newest first: a user's own, or every one for the operator. */
export function listAgents(db: Db, principal: Principal): AgentRow[] {
  return db.select().from(agents).where(ownedBy(principal)).orderBy(desc(agents.createdAt), desc(agents.id)).all()
}

/** The order in which agents are shown. */
export const AGENTS_NEWEST_FIRST: NewestFirst = { table: agents, time: agents.createdAt, id: agents.id }
const PAGE = 500

/** The same, of each only what a list of all needs: pages of it, each as it is when it is read. */
export function* listShort(
  db: Db,
  principal: Principal,
): Generator<Pick<AgentRow, 'id' | 'status' | 'downAt' | 'createdAt'>[], void> {
  const { id, status, downAt, createdAt } = agents
  for (let last: Place | undefined; ; ) {
    const rows = db
      .select({ id, status, downAt, createdAt })
      .from(agents)
      .where(and(ownedBy(principal), last && isBehind(AGENTS_NEWEST_FIRST, last)))
      .orderBy(...newestFirst(AGENTS_NEWEST_FIRST))
      .limit(PAGE)
      .all()
    yield rows
    const end = rows.at(-1)
    if (!end || rows.length < PAGE) return
    last = { time: end.createdAt, id: end.id }
  }
}

/** Whoever owns it; null for a missing agent. */
export function findAgentRow(db: Db, id: string): AgentRow | null {
  return db.select().from(agents).where(eq(agents.id, id)).get() ?? null
}

/** Null for a missing agent and for someone else's. */
export function findAgent(db: Db, principal: Principal, id: string): AgentRow | null {
  return (
    db
      .select()
      .from(agents)
      .where(and(eq(agents.id, id), ownedBy(principal)))
      .get() ?? null
  )
}

/** @throws AppError `not_found` for a missing agent and for someone else's. */
export function getAgent(db: Db, principal: Principal, id: string): AgentRow {
  const agent = findAgent(db, principal, id)
  if (!agent) throw new AppError('not_found', 'Agent not found')
  return agent
}

export function countAgents(db: Db, ownerId: string): number {
  return countRows(db, agents, eq(agents.ownerId, ownerId))
}

/** The condition that keeps users to their own rows. */
export function ownedBy(principal: Principal): SQL | undefined {
  return principal.kind === 'user' ? eq(agents.ownerId, principal.user.id) : undefined
}
