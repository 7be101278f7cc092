import { stringify } from 'csv-stringify/sync'
import { and, asc, eq, gt, gte, lte, or } from 'drizzle-orm'
import { addDays, type Clock } from '../../../core/clock.ts'
import { toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { bytesOf, inPages } from '../../../db/pages.ts'
import { type PersonalList, personalRows } from '../../../db/personal-data.ts'
import { requestBodies, toolEvents, usageEndUserMonths, usageLogs, usageTags } from './tables.ts'

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
