import { stringify } from 'csv-stringify/sync'
import { and, asc, eq, gt, gte } from 'drizzle-orm'
import { addDays, type Clock } from '../../core/clock.ts'
import { toUsd } from '../../core/money.ts'
import type { Db } from '../../db/open.ts'
import { usageLogs } from './tables.ts'

/** Rows that are in memory at once. */
const PAGE = 1000
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
]

/** A user's calls of the last `days` days as CSV (RFC 4180), oldest first, a page at a time. Never a formula to a spreadsheet. */
export function* exportUsageCsv(deps: { db: Db; clock: Clock }, userId: string, days: number): Generator<string> {
  yield stringify([COLUMNS], CSV)
  const from = addDays(deps.clock.now(), -days)
  for (let after = 0; ; ) {
    const rows = deps.db
      .select()
      .from(usageLogs)
      .where(and(eq(usageLogs.userId, userId), gte(usageLogs.createdAt, from), gt(usageLogs.id, after)))
      .orderBy(asc(usageLogs.id))
      .limit(PAGE)
      .all()
    const last = rows.at(-1)
    if (!last) return
    yield stringify(rows.map(toLine), CSV)
    after = last.id
  }
}

const CSV = { escape_formulas: true, record_delimiter: '\r\n' } as const

function toLine(row: typeof usageLogs.$inferSelect) {
  return [
    row.createdAt.toISOString(),
    row.agentId,
    row.model,
    row.provider,
    row.inputTokens,
    row.outputTokens,
    toUsd(row.costMicroUsd).toFixed(6),
    row.endpoint,
    row.latencyMs,
    row.success ? 'true' : 'false',
    row.errorMessage,
    row.generationId,
    row.keyId,
  ]
}
