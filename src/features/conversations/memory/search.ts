import { and, desc, eq, inArray, sql } from 'drizzle-orm'
import { isBefore, mergeInSmallSteps, snippetOf, toPieces, toWordQuery } from '../../../db/full-text.ts'
import type { KeptFigures } from '../../../db/kept-figures.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent, listAgents } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { searchMessages } from '../chat/search.ts'
import { FACT_COLUMNS, toOrigin } from './read.ts'
import type { FoundMemory, MemoryFound, OwnSearchQuery } from './schemas.ts'
import { agentMemory, type MemoryRow } from './tables.ts'

/** Page cursor: the sequence of the last fact. Messages, which follow the facts, use their id. */
const FACT_CURSOR = /^fact:(\d{1,15})$/
/** Sessions of the owner; strangers on channels have other session keys. */
const OWNERS_SESSION = /^user:/

type Page = { q: string; limit: number; before?: string | undefined }
type Whose = { userId: string; agentIds: readonly string[]; agentId: string | undefined }

/**
 * Finds facts of a user's agents, or of one agent, and then messages, that contain all words of `q`; each newest first.
 * @throws AppError `not_found` for a missing agent or another user's.
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
 * As `searchMemory`, for the agent itself. Messages of the owner are searched only in the owner's sessions, so that no
 * one else can read them through the agent.
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
  // On a full page, one message shows whether there is another page.
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

const ADD = `INSERT INTO memory_fts (rowid, key, text, agent_id)
  VALUES (NEW.sequence, NEW.key, coalesce(json_extract(NEW.value, '$'), ''), NEW.agent_id);`
const TAKE_AWAY = 'DELETE FROM memory_fts WHERE rowid = OLD.sequence;'

/**
 * Full-text index of facts, with a copy of their texts, because the table stores JSON. The agent is indexed as a word,
 * as in `MESSAGE_WORDS`.
 */
export const FACT_WORDS: KeptFigures = {
  tables: [
    'DROP TABLE IF EXISTS memory_words',
    'DROP TABLE IF EXISTS memory_fts',
    `CREATE VIRTUAL TABLE memory_fts USING fts5(key, text, agent_id, tokenize='unicode61 remove_diacritics 2')`,
    ...mergeInSmallSteps('memory_fts'),
    'CREATE VIRTUAL TABLE memory_words USING fts5vocab(memory_fts, instance)',
  ],
  triggers: [
    { name: 'memory_fts_insert', event: 'AFTER INSERT ON agent_memory', body: ADD },
    { name: 'memory_fts_update', event: 'AFTER UPDATE ON agent_memory', body: `${TAKE_AWAY} ${ADD}` },
    { name: 'memory_fts_delete', event: 'AFTER DELETE ON agent_memory', body: TAKE_AWAY },
  ],
  recount: [
    `INSERT INTO memory_fts (rowid, key, text, agent_id)
      SELECT sequence, key, coalesce(json_extract(value, '$'), ''), agent_id FROM agent_memory`,
  ],
}
