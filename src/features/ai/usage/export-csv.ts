import { stringify } from 'csv-stringify/sync'
import { addDays, type Clock } from '../../../core/clock.ts'
import { toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { callsInPages, type UsageRow } from './call-pages.ts'

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

/**
 * A user's calls of the last `days` days as CSV (RFC 4180), oldest first, a page at a time: those that were recorded by now. A cost that is not known is empty.
 * Never a formula to a spreadsheet.
 */
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
