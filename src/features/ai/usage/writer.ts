import { sql } from 'drizzle-orm'
import type { Db, Tx } from '../../../db/open.ts'
import { prepareInsert } from '../../../db/prepare-once.ts'
import { write } from '../../../db/write.ts'
import type { Timed } from './rows/event.ts'
import { prepareKeySums, prepareUserSums } from './rows/statements.ts'
import { sumDays, sumEndUserMonths, sumKeyDays, sumKeyMonths, sumMonths } from './rows/sums.ts'
import { usageLogs, usageTags } from './tables.ts'

/** Writes events with their sums. `saveMissing` skips events that are stored already or given twice. */
export type UsageWriter = {
  save(events: Timed[]): Promise<void>
  saveMissing(events: Timed[]): Promise<void>
}

export function createUsageWriter(db: Db): UsageWriter {
  let statements: ReturnType<typeof prepareStatements> | undefined

  const insert = (tx: Tx, events: Timed[]) => {
    if (events.length === 0) return
    statements ??= prepareStatements(tx)
    for (const event of events) statements.log(event)
    for (const day of sumDays(events)) statements.day.run(day)
    for (const month of sumMonths(events)) statements.month.run(month)
    for (const month of sumKeyMonths(events)) statements.keyMonth.run(month)
    for (const day of sumKeyDays(events)) statements.keyDay.run(day)
    for (const month of sumEndUserMonths(events)) statements.endUserMonth.run(month)
    for (const { tags, generationId } of events) if (tags) statements.tags.run({ generationId })
  }
  return {
    save: (events) => write(db, (tx) => insert(tx, events)),
    saveMissing: (events) => write(db, (tx) => insert(tx, onlyMissing(tx, events))),
  }
}

function onlyMissing(tx: Tx, events: Timed[]): Timed[] {
  const ids = JSON.stringify(events.map(({ generationId }) => generationId))
  const rows = tx
    .select({ generationId: usageLogs.generationId })
    .from(usageLogs)
    .where(sql`${usageLogs.generationId} IN (SELECT value FROM json_each(${ids}))`)
    .all()
  const known = new Set(rows.map(({ generationId }) => generationId))
  const missing = events.filter(({ generationId }) => !known.has(generationId))
  return [...new Map(missing.map((event) => [event.generationId, event])).values()]
}

/** The values of `usage_logs` as SQLite stores them. */
const LOG_VALUES = {
  userId: ({ userId }) => userId,
  agentId: ({ agentId }) => agentId,
  model: ({ model }) => model,
  inputTokens: ({ inputTokens }) => inputTokens,
  cachedInputTokens: ({ cachedInputTokens }) => cachedInputTokens,
  cacheCreationTokens: ({ cacheCreationTokens }) => cacheCreationTokens,
  cacheCreationHourTokens: ({ cacheCreationHourTokens }) => cacheCreationHourTokens,
  outputTokens: ({ outputTokens }) => outputTokens,
  costMicroUsd: ({ costMicroUsd }) => costMicroUsd ?? 0,
  isUnpriced: ({ costMicroUsd }) => Number(costMicroUsd === null),
  endpoint: ({ endpoint }) => endpoint,
  latencyMs: ({ latencyMs }) => latencyMs,
  success: ({ errorMessage }) => Number(errorMessage === null),
  errorMessage: ({ errorMessage }) => errorMessage,
  createdAt: ({ at }) => at.getTime(),
  generationId: ({ generationId }) => generationId,
  provider: ({ provider }) => provider,
  keyId: ({ keyId }) => keyId,
  attempts: ({ attempts }) => attempts,
  isOwnKey: ({ isOwnKey }) => Number(isOwnKey),
  estimated: ({ isEstimated }) => Number(isEstimated),
  firstTokenMs: ({ firstTokenMs = null }) => firstTokenMs,
  priceSource: ({ priceSource = null }) => priceSource,
  finishReason: ({ finishReason = null }) => finishReason,
  callId: ({ callId = null }) => callId,
  trail: ({ trail }) => (trail ? JSON.stringify(trail) : null),
  endUser: ({ endUser = null }) => endUser,
  tags: ({ tags }) => (tags ? JSON.stringify(tags) : null),
} satisfies Record<Exclude<keyof typeof usageLogs.$inferInsert, 'id'>, (event: Timed) => string | number | null>

function prepareStatements(tx: Tx) {
  return {
    ...prepareKeySums(tx),
    ...prepareUserSums(tx),
    log: prepareInsert(tx, usageLogs, LOG_VALUES),
    tags: tx
      .insert(usageTags)
      .select(
        sql`SELECT ${usageLogs.id}, value, ${usageLogs.userId}, ${usageLogs.createdAt}
          FROM ${usageLogs}, json_each(${usageLogs.tags}) WHERE ${usageLogs.generationId} = ${sql.placeholder('generationId')}`,
      )
      .prepare(),
  }
}
