import { and, asc, eq } from 'drizzle-orm'
import { AppError } from '../../core/errors.ts'
import type { Db } from '../../db/open.ts'
import type { SignedInUser } from '../../http/env.ts'
import { getAgent } from '../agents/list.ts'
import { agents } from '../agents/tables.ts'
import type { AgentMemory, Memory } from './schemas.ts'
import { agentMemory, type MemoryRow } from './tables.ts'

/** What an agent is shown of each value before it asks for the whole. */
const MAX_SHOWN_CHARACTERS = 500

/** @throws AppError `not_found` for a missing agent and for someone else's. */
export function readMemory(db: Db, user: SignedInUser, agentId: string | undefined): Memory {
  if (agentId) getAgent(db, { kind: 'user', user }, agentId)
  const rows = agentId ? listRows(db, agentId) : listRowsOfUser(db, user.id)
  const memory = toValues(rows)
  return {
    memory,
    agentId: agentId ?? null,
    count: Object.keys(memory).length,
    lastUpdated: rows.at(-1)?.updatedAt.toISOString() ?? null,
  }
}

/** Everything that a user's agents remember, by agent. */
export function exportMemory(db: Db, userId: string): { agentId: string; memory: Memory['memory'] }[] {
  const byAgent = Map.groupBy(listRowsOfUser(db, userId), (row) => row.agentId)
  return [...byAgent].map(([agentId, rows]) => ({ agentId, memory: toValues(rows) }))
}

/** As rows, for the export of an account. */
export function listRowsOfUser(db: Db, userId: string): MemoryRow[] {
  const newestLast = [asc(agentMemory.updatedAt), asc(agentMemory.key)]
  return db
    .select({ row: agentMemory })
    .from(agentMemory)
    .innerJoin(agents, eq(agents.id, agentMemory.agentId))
    .where(eq(agents.ownerId, userId))
    .orderBy(...newestLast)
    .all()
    .map(({ row }) => row)
}

/** What an agent remembers as it is shown it at the beginning of a turn, the newest last. */
export function readOwnMemory(db: Db, agentId: string): AgentMemory {
  const facts = listRows(db, agentId).map(({ key, value, source, updatedAt }) => {
    const text = toText(value)
    const isWhole = text.length <= MAX_SHOWN_CHARACTERS
    // A pair of surrogates may be cut in two.
    const shown = isWhole ? text : text.slice(0, MAX_SHOWN_CHARACTERS).toWellFormed()
    return { key, text: shown, isWhole, source, updatedAt: updatedAt.toISOString() }
  })
  return { facts }
}

/** One value as a whole, as text. @throws AppError `not_found`. */
export function recallKey(db: Db, agentId: string, key: string): string {
  const isThis = and(eq(agentMemory.agentId, agentId), eq(agentMemory.key, key))
  const row = db.select().from(agentMemory).where(isThis).get()
  if (!row) throw new AppError('not_found', 'Memory key not found')
  return toText(row.value)
}

/** Oldest first, so that the newest of equal keys is the one that stays in an object. */
function listRows(db: Db, agentId: string): MemoryRow[] {
  return db
    .select()
    .from(agentMemory)
    .where(eq(agentMemory.agentId, agentId))
    .orderBy(asc(agentMemory.updatedAt), asc(agentMemory.key))
    .all()
}

function toValues(rows: MemoryRow[]): Memory['memory'] {
  return Object.fromEntries(rows.map(({ key, value }) => [key, JSON.parse(value)]))
}

/** A text is shown as it is, everything else as JSON. */
function toText(json: string): string {
  const value: unknown = JSON.parse(json)
  return typeof value === 'string' ? value : json
}
