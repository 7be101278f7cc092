import { and, desc, eq, inArray, lt, lte, or, type SQL } from 'drizzle-orm'
import type { AnySQLiteColumn } from 'drizzle-orm/sqlite-core'
import { toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { apiKeys } from '../../accounts/keys/tables.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { CallList, CallQuery, ModelCall } from './schemas.ts'
import { usageLogs } from './tables.ts'

/** So many calls are looked through for one answer: with a rare condition there may be more further back. */
const MAX_SEARCHED = 5000

/**
 * The calls of a user that a query names, newest first, a page at a time. `nextBefore` is where to go on, also after a page
 * on which nothing was found; null at the end.
 */
export function listCalls(db: Db, userId: string, query: CallQuery): CallList {
  const { limit, before, generationId } = query
  const { id, createdAt } = usageLogs
  const isSearched = and(
    eq(usageLogs.userId, userId),
    before === undefined ? undefined : isOlder(db, userId, before),
    generationId === undefined ? undefined : eq(usageLogs.generationId, generationId),
  )
  const searched = db.select().from(usageLogs).where(isSearched).orderBy(desc(createdAt), desc(id)).limit(MAX_SEARCHED)
  const latest = searched.as('latest')
  const rows = db
    .select()
    .from(latest)
    .where(isWanted(latest, query))
    .orderBy(desc(latest.createdAt), desc(latest.id))
    .limit(limit)
    .all()
  const last = rows.at(-1)
  const nextBefore = rows.length === limit && last ? last.id : findEnd(db, isSearched)
  const names = readNames(db, rows)
  return { calls: rows.map((call) => toCall(call, names)), nextBefore }
}

/** In the order of the index, so that a page far back costs as much as the first. */
function isOlder(db: Db, userId: string, before: number): SQL | undefined {
  const { id, createdAt } = usageLogs
  const known = db
    .select({ createdAt })
    .from(usageLogs)
    .where(and(eq(id, before), eq(usageLogs.userId, userId)))
    .get()
  if (!known) return lt(id, before)
  return and(
    lte(createdAt, known.createdAt),
    or(lt(createdAt, known.createdAt), and(eq(createdAt, known.createdAt), lt(id, before))),
  )
}

type Columns = Readonly<Record<'agentId' | 'model' | 'keyId' | 'success', AnySQLiteColumn>>

function isWanted(columns: Columns, { agentId, model, keyId, status }: CallQuery): SQL | undefined {
  return and(
    agentId === undefined ? undefined : eq(columns.agentId, agentId),
    model === undefined ? undefined : eq(columns.model, model),
    keyId === undefined ? undefined : eq(columns.keyId, keyId),
    status === undefined ? undefined : eq(columns.success, status === 'succeeded'),
  )
}

/** The last of the calls that were looked through, null when there are no more of them. */
function findEnd(db: Db, isSearched: SQL | undefined): number | null {
  const { id, createdAt } = usageLogs
  const ends = db.select({ id }).from(usageLogs).where(isSearched).orderBy(desc(createdAt), desc(id)).limit(1)
  return ends.offset(MAX_SEARCHED - 1).get()?.id ?? null
}

type Row = typeof usageLogs.$inferSelect
type Names = ReadonlyMap<string, string>

/** Of the agents and keys of some calls, by their ids; what was deleted has none. */
function readNames(db: Db, calls: readonly Row[]): Names {
  const agentIds = [...new Set(calls.map(({ agentId }) => agentId))]
  const keyIds = [...new Set(calls.flatMap(({ keyId }) => keyId ?? []))]
  const ofAgents = db.select({ id: agents.id, name: agents.name }).from(agents).where(inArray(agents.id, agentIds))
  const ofKeys = db.select({ id: apiKeys.id, name: apiKeys.name }).from(apiKeys).where(inArray(apiKeys.id, keyIds))
  return new Map([...ofAgents.all(), ...ofKeys.all()].map(({ id, name }) => [id, name]))
}

function toCall(call: Row, names: Names): ModelCall {
  return {
    id: call.id,
    generationId: call.generationId,
    at: call.createdAt.toISOString(),
    agentId: call.agentId,
    agentName: names.get(call.agentId) ?? null,
    keyId: call.keyId,
    keyName: call.keyId === null ? null : (names.get(call.keyId) ?? null),
    model: call.model,
    provider: call.provider,
    endpoint: call.endpoint,
    inputTokens: call.inputTokens,
    outputTokens: call.outputTokens,
    costUsd: call.isUnpriced ? null : toUsd(call.costMicroUsd),
    latencyMs: call.latencyMs,
    attempts: call.attempts,
    succeeded: call.success,
    error: call.errorMessage,
    isOwnKey: call.isOwnKey,
    isEstimated: call.estimated,
  }
}
