import { stringify } from 'csv-stringify/sync'
import { and, asc, desc, eq, gt, gte, inArray, lt, lte, or, type SQL } from 'drizzle-orm'
import type { AnySQLiteColumn } from 'drizzle-orm/sqlite-core'
import { addDays, type Clock } from '../../../core/clock.ts'
import { toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { bytesOf, inPages } from '../../../db/pages/in-pages.ts'
import { type PersonalList, personalRows } from '../../../db/personal-data.ts'
import { apiKeys } from '../../accounts/keys/tables.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { CallList, CallQuery, ModelCall } from './schemas.ts'
import { requestBodies, toolEvents, usageEndUserMonths, usageLogs, usageTags } from './tables.ts'

/** Calls searched per request; a rare filter may have more matches on later pages. */
const MAX_SEARCHED = 5000

/** Lists a page of a user's calls, newest first. `nextBefore` continues the search, also after an empty page; null at the end. */
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

/** Follows the index, so that a late page costs as much as the first. */
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

/** Returns the id of the last searched call, or null at the end. */
function findEnd(db: Db, isSearched: SQL | undefined): number | null {
  const { id, createdAt } = usageLogs
  const ends = db.select({ id }).from(usageLogs).where(isSearched).orderBy(desc(createdAt), desc(id)).limit(1)
  return ends.offset(MAX_SEARCHED - 1).get()?.id ?? null
}

type Row = typeof usageLogs.$inferSelect
type Names = ReadonlyMap<string, string>

/** Reads the names of the calls' agents and keys by id. */
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

/** Rows that are read in one go. */
const PAGE = 150

type UsageRow = typeof usageLogs.$inferSelect

/** Yields a user's calls of a period, oldest first. Pages follow the index, so each costs the same. */
function* callsInPages(db: Db, userId: string, { from, until }: { from: Date; until: Date }) {
  let last: Pick<UsageRow, 'createdAt' | 'id'> = { createdAt: from, id: 0 }
  for (;;) {
    const rows = readPage(db, userId, last, until)
    const end = rows.at(-1)
    if (!end) return
    yield rows
    if (rows.length < PAGE) return
    last = end
  }
}

function readPage(db: Db, userId: string, last: Pick<UsageRow, 'createdAt' | 'id'>, until: Date): UsageRow[] {
  const { createdAt, id } = usageLogs
  const isAfter = or(gt(createdAt, last.createdAt), and(eq(createdAt, last.createdAt), gt(id, last.id)))
  return db
    .select()
    .from(usageLogs)
    .where(and(eq(usageLogs.userId, userId), gte(createdAt, last.createdAt), lte(createdAt, until), isAfter))
    .orderBy(asc(createdAt), asc(id))
    .limit(PAGE)
    .all()
}

const COLUMNS = [
  'created_at',
  'agent_id',
  'model',
  'provider',
  'input_tokens',
  'output_tokens',
  'cost_usd',
  'endpoint',
  'latency_ms',
  'success',
  'error_message',
  'generation_id',
  'key_id',
  'estimated',
]

/** Yields a user's calls of the last `days` days as CSV (RFC 4180), oldest first. Unknown costs are empty; formulas are escaped. */
export function* exportUsageCsv(deps: { db: Db; clock: Clock }, userId: string, days: number): Generator<string, void> {
  yield stringify([COLUMNS], CSV)
  const until = deps.clock.now()
  for (const rows of callsInPages(deps.db, userId, { from: addDays(until, -days), until })) {
    yield stringify(rows.map(toLine), CSV)
  }
}

const CSV = { escape_formulas: true, record_delimiter: '\r\n' } as const

function toLine(row: UsageRow) {
  return [
    row.createdAt.toISOString(),
    row.agentId,
    row.model,
    row.provider,
    row.inputTokens,
    row.outputTokens,
    row.isUnpriced ? null : toUsd(row.costMicroUsd).toFixed(6),
    row.endpoint,
    row.latencyMs,
    row.success ? 'true' : 'false',
    row.errorMessage,
    row.generationId,
    row.keyId,
    row.estimated ? 'true' : 'false',
  ]
}

/** Calls of models, with their tags. */
export const personalUsage: PersonalList = {
  name: 'usage',
  tables: [usageLogs, usageTags],
  *pages(db, userId, until) {
    const calls = callsInPages(db, userId, { from: new Date(0), until })
    for (const rows of calls) {
      yield rows.map(({ userId: _, isUnpriced, ...call }) => (isUnpriced ? { ...call, costMicroUsd: null } : call))
    }
  },
}

/** Stored bodies of model calls. */
export const personalRequestBodies = personalRows('requestBodies', requestBodies, {
  of: requestBodies.userId,
  hide: ['userId'],
  sizeBytes: bytesOf(requestBodies.request, requestBodies.answer),
})

/** Monthly usage of the end users of the account's keys. */
export const personalEndUsers = personalRows('endUsers', usageEndUserMonths, {
  of: usageEndUserMonths.userId,
  hide: ['userId'],
})

/** Tools that agents used. */
export const personalToolEvents: PersonalList = {
  name: 'toolEvents',
  tables: [toolEvents],
  pages: (db, userId) =>
    inPages(db, {
      table: toolEvents,
      condition: eq(toolEvents.userId, userId),
      read: (isOnPage) =>
        db
          .select()
          .from(toolEvents)
          .where(isOnPage)
          .all()
          .map(({ id: _, userId: __, ...event }) => event),
    }),
}
