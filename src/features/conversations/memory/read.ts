import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { spareTurn } from '../../../core/concurrency/timing.ts'
import { AppError } from '../../../core/errors.ts'
import { toMemoryLines } from '../../../core/text/lines.ts'
import { memoize } from '../../../db/changes.ts'
import type { Db } from '../../../db/open.ts'
import { bytesOf, inPages, takePage } from '../../../db/pages.ts'
import { parameter } from '../../../db/prepare-once.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent, listAgents } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { type NoteDeps, type Remembered, readNotes } from './notes.ts'
import type { AgentMemory, Origin } from './schemas.ts'
import { agentMemory, type MemoryRow } from './tables.ts'

/** Longest beginning of a value that an agent sees before it reads the whole. */
const MAX_SHOWN_CHARACTERS = 500

const rowid = sql<number>`rowid`

export type ReadMemoryDeps = NoteDeps & { db: Db }

/**
 * Returns the facts of a user's agents, or of one agent, as parts of a JSON document (schema `Memory`) that are read
 * while they are sent. The newest fact of each key wins.
 * @throws AppError `not_found` for a missing agent or another user's.
 */
export async function readMemory(
  deps: ReadMemoryDeps,
  user: SignedInUser,
  agentId: string | undefined,
): Promise<Generator<string, void>> {
  const principal = { kind: 'user', user } as const
  const own = agentId ? [getAgent(deps.db, principal, agentId)] : listAgents(deps.db, principal)
  const { notes, unread } = await readNotes(deps, own)
  const facts: Fact[] = notes.map(toNoteFact)
  for (const { id } of own) {
    await spareTurn()
    facts.push(...listFacts(deps.db, id))
  }
  facts.sort((one, other) => one.updatedAt.getTime() - other.updatedAt.getTime())
  const newest = [...new Map(facts.map((fact) => [fact.key, fact])).values()]
  const lastUpdated = facts.at(-1)?.updatedAt ?? null
  const rest = { agentId: agentId ?? null, count: newest.length, lastUpdated, ...(unread.length > 0 && { unread }) }
  const sources = agentId && { sources: listOrigins(deps.db, agentId) }
  return writeMemory(deps.db, newest, { ...rest, ...sources })
}

/** Returns all facts of a user's agents, by agent, as parts of one JSON document. */
export async function exportMemory(
  deps: ReadMemoryDeps & { clock: Clock },
  user: SignedInUser,
): Promise<Generator<string, void>> {
  const own = listAgents(deps.db, { kind: 'user', user }).toReversed()
  const { notes, unread } = await readNotes(deps, own)
  const byAgent = Map.groupBy(notes, ({ agentId }) => agentId)
  const head = `{"exportedAt":${JSON.stringify(deps.clock.now())},"agents":[`
  const foot = unread.length > 0 ? `],"unread":${JSON.stringify(unread)}}` : ']}'
  return writeExport(
    deps.db,
    own.map(({ id }) => ({ id, notes: byAgent.get(id) ?? [] })),
    { head, foot },
  )
}

/** Yields an agent's facts in pages, for the account export. */
export function memoryInPages(db: Db, agentId: string): Generator<MemoryRow[], void> {
  return inPages(db, {
    table: agentMemory,
    condition: eq(agentMemory.agentId, agentId),
    sizeBytes: bytesOf(agentMemory.value),
    read: (isOnPage) => db.select().from(agentMemory).where(isOnPage).all(),
  })
}

/** Returns an agent's facts for its system prompt, newest last. */
export function readOwnMemory(db: Db, agentId: string, maxShownCharacters = MAX_SHOWN_CHARACTERS): AgentMemory {
  const facts = listRows(db, agentId).map(({ key, value, ...origin }) => {
    const text = toText(value)
    const isWhole = text.length <= maxShownCharacters
    // The cut may split a surrogate pair.
    const shown = isWhole ? text : text.slice(0, maxShownCharacters).toWellFormed()
    return { key, text: shown, isWhole, ...toOrigin(origin) }
  })
  return { facts }
}

/** Returns one value as text. @throws AppError `not_found`. */
export function recallKey(db: Db, agentId: string, key: string): string {
  const isThis = and(eq(agentMemory.agentId, agentId), eq(agentMemory.key, key))
  const row = db.select().from(agentMemory).where(isThis).get()
  if (!row) throw new AppError('not_found', 'Memory key not found')
  return toText(row.value)
}

/** A stored fact has a `rowid`, and its value is read later; a note has its value in `json`. */
type Fact = { key: string; updatedAt: Date; bytes: number; rowid: number | null; json: string }

function toNoteFact({ key, value, updatedAt }: Remembered): Fact {
  const json = JSON.stringify(value)
  return { key, updatedAt, bytes: json.length, rowid: null, json }
}

function listFacts(db: Db, agentId: string): Fact[] {
  const { key, updatedAt, value } = agentMemory
  const facts = db
    .select({ rowid, key, updatedAt, bytes: bytesOf(value) })
    .from(agentMemory)
    .where(eq(agentMemory.agentId, agentId))
    .orderBy(asc(key))
  return facts.all().map((fact) => ({ ...fact, json: '' }))
}

function* writeMemory(db: Db, facts: Fact[], rest: Record<string, unknown>): Generator<string, void> {
  let start = '{"memory":{'
  for (let left = facts; left.length > 0; ) {
    const page = takePage(left)
    const fields = readFields(db, page)
    if (fields.length > 0) yield start + fields.join(',')
    if (fields.length > 0) start = ','
    left = left.slice(page.length)
  }
  yield `${start === ',' ? '' : start}},${JSON.stringify(rest).slice(1)}`
}

/** Returns JSON fields in the order of `facts`; facts deleted in the meantime are left out. */
function readFields(db: Db, facts: Fact[]): string[] {
  const numbers = facts.flatMap((fact) => fact.rowid ?? [])
  const rows = db.select({ rowid, value: agentMemory.value }).from(agentMemory).where(inArray(rowid, numbers)).all()
  const values = new Map(rows.map((row) => [row.rowid, row.value]))
  return facts.flatMap(({ key, rowid: number, json }) => {
    const value = number === null ? json : values.get(number)
    return value === undefined ? [] : [toField(key, value)]
  })
}

type AgentNotes = { id: string; notes: Remembered[] }

/** Leaves out agents without facts. */
function* writeExport(db: Db, own: AgentNotes[], { head, foot }: { head: string; foot: string }) {
  yield head
  let separator = ''
  for (const { id, notes } of own) {
    let start = `${separator}{"agentId":${JSON.stringify(id)},"memory":{`
    const noted = notes.map(({ key, value }) => toField(key, JSON.stringify(value)))
    if (noted.length > 0) yield start + noted.join(',')
    if (noted.length > 0) start = ','
    for (const rows of memoryInPages(db, id)) {
      yield start + rows.map(({ key, value }) => toField(key, value)).join(',')
      start = ','
    }
    if (start !== ',') continue
    yield '}}'
    separator = ','
  }
  yield foot
}

function toField(key: string, json: string): string {
  return `${JSON.stringify(key)}:${json}`
}

function listRows(db: Db, agentId: string): MemoryRow[] {
  return db
    .select()
    .from(agentMemory)
    .where(eq(agentMemory.agentId, agentId))
    .orderBy(asc(agentMemory.updatedAt), asc(agentMemory.key))
    .all()
}

/** Returns a string value as it is, any other value as JSON. */
function toText(json: string): string {
  const value: unknown = JSON.parse(json)
  return typeof value === 'string' ? value : json
}

type OriginColumns = Pick<MemoryRow, 'source' | 'session' | 'page' | 'createdAt' | 'updatedAt'>

/** Columns of a fact without its value, which may be large. */
export const FACT_COLUMNS = {
  sequence: agentMemory.sequence,
  agentId: agentMemory.agentId,
  key: agentMemory.key,
  source: agentMemory.source,
  session: agentMemory.session,
  page: agentMemory.page,
  createdAt: agentMemory.createdAt,
  updatedAt: agentMemory.updatedAt,
}

/** Returns the origin of each fact of an agent, by key. */
function listOrigins(db: Db, agentId: string): Record<string, Origin> {
  const rows = db.select(FACT_COLUMNS).from(agentMemory).where(eq(agentMemory.agentId, agentId)).all()
  return Object.fromEntries(rows.map((row) => [row.key, toOrigin(row)]))
}

export function toOrigin({ source, session, page, createdAt, updatedAt }: OriginColumns): Origin {
  const dates = { createdAt: createdAt?.toISOString() ?? null, updatedAt: updatedAt.toISOString() }
  return { source, session, page, ...dates }
}

/** OpenClaw agents have no tool for reading the rest of a value. */
const MAX_INSTRUCTION_VALUE_CHARACTERS = 4000

/**
 * Creates the instruction with the platform's facts for agents that have no tool to read them; null for other agents
 * and without facts.
 */
export function createMemoryInstruction(db: Db): (agentId: string) => string | null {
  const needsIt = db
    .select({ agentId: agents.id })
    .from(agents)
    .innerJoin(agentMemory, eq(agentMemory.agentId, agents.id))
    .where(and(eq(agents.id, parameter('agentId')), eq(agents.kind, 'openclaw')))
    .limit(1)
    .prepare()
  // Cached, because every completion needs it.
  return memoize(db, (agentId) => {
    if (!needsIt.get({ agentId })) return null
    const lines = toMemoryLines(readOwnMemory(db, agentId, MAX_INSTRUCTION_VALUE_CHARACTERS).facts, '')
    return `What your owner wants you to remember, kept outside of your workspace:\n${lines.join('\n')}`
  })
}
