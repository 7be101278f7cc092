import { and, asc, eq } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import type { SignedInUser } from '../../http/env.ts'
import { getAgent } from '../agents/list.ts'
import type { Memory } from './schemas.ts'
import { agentMemory, type MemoryRow } from './tables.ts'

/** @throws AppError `not_found` for a missing agent and for someone else's. */
export function readMemory(db: Db, user: SignedInUser, agentId: string | undefined): Memory {
  if (agentId) getAgent(db, { kind: 'user', user }, agentId)
  const rows = listRows(db, user.id, agentId)
  const memory = toValues(rows)
  return {
    memory,
    agentId: agentId ?? null,
    count: Object.keys(memory).length,
    lastUpdated: rows.at(-1)?.updatedAt.toISOString() ?? null,
  }
}

/** Everything that a user has agents remember, by agent. */
export function exportMemory(db: Db, userId: string): { agentId: string; memory: Memory['memory'] }[] {
  const byAgent = Map.groupBy(listRows(db, userId, undefined), (row) => row.agentId)
  return [...byAgent].map(([agentId, rows]) => ({ agentId, memory: toValues(rows) }))
}

/** Oldest first, so that the newest of equal keys is the one that stays in an object. */
function listRows(db: Db, userId: string, agentId: string | undefined): MemoryRow[] {
  return db
    .select()
    .from(agentMemory)
    .where(and(eq(agentMemory.userId, userId), agentId ? eq(agentMemory.agentId, agentId) : undefined))
    .orderBy(asc(agentMemory.updatedAt), asc(agentMemory.key))
    .all()
}

function toValues(rows: MemoryRow[]): Memory['memory'] {
  return Object.fromEntries(rows.map(({ key, value }) => [key, JSON.parse(value)]))
}
