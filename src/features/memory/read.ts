import { and, asc, eq } from 'drizzle-orm'
import { AppError } from '../../core/errors.ts'
import type { Db } from '../../db/open.ts'
import type { SignedInUser } from '../../http/env.ts'
import { getAgent, listAgents } from '../agents/list.ts'
import { agents } from '../agents/tables.ts'
import { type NoteDeps, type Remembered, readNotes } from './notes.ts'
import type { AgentMemory, Memory } from './schemas.ts'
import { agentMemory, type MemoryRow } from './tables.ts'

/** What an agent is shown of each value before it asks for the whole. */
const MAX_SHOWN_CHARACTERS = 500

export type ReadDeps = NoteDeps & { db: Db }

/** @throws AppError `not_found` for a missing agent and for someone else's. */
export async function readMemory(deps: ReadDeps, user: SignedInUser, agentId: string | undefined): Promise<Memory> {
  const { entries, unread } = await listEntries(deps, user, agentId)
  const memory = toValues(entries)
  return {
    memory,
    agentId: agentId ?? null,
    count: Object.keys(memory).length,
    lastUpdated: entries.at(-1)?.updatedAt.toISOString() ?? null,
    ...(unread.length > 0 && { unread }),
  }
}

/** Everything that a user's agents remember, by agent. */
export async function exportMemory(deps: ReadDeps, user: SignedInUser) {
  const { entries, unread } = await listEntries(deps, user, undefined)
  const byAgent = Map.groupBy(entries, (entry) => entry.agentId)
  const remembered = [...byAgent].map(([agentId, own]) => ({ agentId, memory: toValues(own) }))
  return { agents: remembered, ...(unread.length > 0 && { unread }) }
}

/** What the platform keeps of it, for the export of an account. */
export function listRowsOfUser(db: Db, userId: string): MemoryRow[] {
  const rows = db
    .select({ row: agentMemory })
    .from(agentMemory)
    .innerJoin(agents, eq(agents.id, agentMemory.agentId))
    .where(eq(agents.ownerId, userId))
  return rows
    .orderBy(asc(agentMemory.updatedAt), asc(agentMemory.key))
    .all()
    .map(({ row }) => row)
}

/** What an agent remembers as it is shown it at the beginning of a turn, the newest last. */
export function readOwnMemory(db: Db, agentId: string, maxShownCharacters = MAX_SHOWN_CHARACTERS): AgentMemory {
  const facts = listRows(db, agentId).map(({ key, value, source, updatedAt }) => {
    const text = toText(value)
    const isWhole = text.length <= maxShownCharacters
    // A pair of surrogates may be cut in two.
    const shown = isWhole ? text : text.slice(0, maxShownCharacters).toWellFormed()
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
async function listEntries(deps: ReadDeps, user: SignedInUser, agentId: string | undefined) {
  const principal = { kind: 'user', user } as const
  const own = agentId ? [getAgent(deps.db, principal, agentId)] : listAgents(deps.db, principal)
  const { notes, unread } = await readNotes(deps, own)
  const rows = agentId ? listRows(deps.db, agentId) : listRowsOfUser(deps.db, user.id)
  const kept = rows.map((row): Remembered => ({ ...row, value: JSON.parse(row.value) }))
  const entries = [...kept, ...notes].sort((a, b) => a.updatedAt.getTime() - b.updatedAt.getTime())
  return { entries, unread }
}

function listRows(db: Db, agentId: string): MemoryRow[] {
  return db
    .select()
    .from(agentMemory)
    .where(eq(agentMemory.agentId, agentId))
    .orderBy(asc(agentMemory.updatedAt), asc(agentMemory.key))
    .all()
}

function toValues(entries: readonly Remembered[]): Memory['memory'] {
  return Object.fromEntries(entries.map(({ key, value }) => [key, value]))
}

/** A text is shown as it is, everything else as JSON. */
function toText(json: string): string {
  const value: unknown = JSON.parse(json)
  return typeof value === 'string' ? value : json
}
