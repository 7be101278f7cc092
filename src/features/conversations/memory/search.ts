import { and, desc, eq, inArray, sql } from 'drizzle-orm'
import { isBefore, snippetOf, toPieces, toWordQuery } from '../../../db/full-text.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent, listAgents } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { searchMessages } from '../chat/search.ts'
import { FACT_COLUMNS, toOrigin } from './origin.ts'
import type { FoundMemory, MemoryFound, OwnSearchQuery } from './schemas.ts'
import { agentMemory, type MemoryRow } from './tables.ts'

/** A place in the list: the number of the last fact. What comes behind all facts is placed by a message. */
const FACT_CURSOR = /^fact:(\d{1,15})$/
/** The conversations of the owner; what a stranger says reaches an agent under other names. */
const OWNERS_SESSION = /^user:/

type Page = { q: string; limit: number; before?: string | undefined }
type Whose = { userId: string; agentIds: readonly string[]; agentId: string | undefined }

/**
 * What a user's agents remember, or one of them, and then what was said with them, that has all words of `q`; each newest
 * first. @throws AppError `not_found` for a missing agent and for someone else's.
 */
export function searchMemory(
  db: Db,
  user: SignedInUser,
  { agentId, ...page }: Page & { agentId?: string | undefined },
): MemoryFound {
  const principal = { kind: 'user', user } as const
  const own = agentId ? [getAgent(db, principal, agentId)] : listAgents(db, principal)
  return find(db, { userId: user.id, agentIds: own.map(({ id }) => id), agentId }, page)
}

/**
 * The same for an agent: its facts, and what its owner has said with it. The latter only where the owner asks: nobody else
 * who talks to the agent gets to read it.
 */
export function searchOwnMemory(db: Db, agentId: string, { session, ...page }: OwnSearchQuery): MemoryFound {
  const ownerId = db.select({ id: agents.ownerId }).from(agents).where(eq(agents.id, agentId)).get()?.id ?? null
  if (ownerId !== null && OWNERS_SESSION.test(session ?? '')) {
    return find(db, { userId: ownerId, agentIds: [agentId], agentId }, page)
  }
  const facts = findFacts(db, [agentId], page)
  const results = facts.slice(0, page.limit)
  return toPage(results, facts.length > page.limit)
}

function find(db: Db, { userId, agentIds, agentId }: Whose, page: Page): MemoryFound {
  const facts = findFacts(db, agentIds, page)
  if (facts.length > page.limit) return toPage(facts.slice(0, page.limit), true)
  const left = page.limit - facts.length
  const { q, before } = page
  const isBehindFacts = before !== undefined && !FACT_CURSOR.test(before)
  // Where the page is full already, one message tells whether there is another page.
  const query = { q, agentId, limit: Math.max(left, 1), before: isBehindFacts ? before : undefined }
  const said = searchMessages(db, userId, query)
  if (left === 0) return toPage(facts, said.results.length > 0)
  const found = said.results.map(({ message, snippet }) => ({ kind: 'message' as const, message, snippet }))
  return toPage([...facts, ...found], said.hasMore)
}

function findFacts(
  db: Db,
  agentIds: readonly string[],
  { q, limit, before }: Page,
): (FoundMemory & { kind: 'fact' })[] {
  const cursor = before === undefined ? null : FACT_CURSOR.exec(before)
  if ((before !== undefined && !cursor) || agentIds.length === 0) return []
  const words = toWordQuery(db, 'memory_words', q)
  if (words === null) return []
  const isOwn = agentIds.map((id) => `"${id}"`).join(' OR ')
  const rows = db
    .select({ ...FACT_COLUMNS, snippet: snippetOf('memory_fts', 1) })
    .from(sql`memory_fts`)
    .innerJoin(agentMemory, eq(agentMemory.sequence, sql`memory_fts.rowid`))
    .where(
      and(
        sql`memory_fts MATCH ${`agent_id : (${isOwn}) AND {key text} : (${words})`}`,
        inArray(agentMemory.agentId, [...agentIds]),
        cursor ? isBefore('memory_fts', Number(cursor[1])) : undefined,
      ),
    )
    .orderBy(desc(sql`memory_fts.rowid`))
    .limit(limit + 1)
    .all()
  return rows.map(toFoundFact)
}

function toFoundFact(row: Omit<MemoryRow, 'value'> & { snippet: string }) {
  const { sequence, agentId, key, snippet } = row
  return {
    kind: 'fact' as const,
    cursor: `fact:${sequence}`,
    agentId,
    key,
    ...toOrigin(row),
    snippet: toPieces(snippet),
  }
}

function toPage(results: FoundMemory[], hasMore: boolean): MemoryFound {
  const last = results.at(-1)
  const next = last?.kind === 'fact' ? last.cursor : last?.message.id
  return { results, hasMore, next: hasMore ? (next ?? null) : null }
}
