import { sql } from 'drizzle-orm'
import { toDay, toMonth } from '../../../core/clock.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Timed } from './event.ts'
import {
  addedDaySums,
  addedKeySums,
  addedMonthSums,
  usageDays,
  usageKeyMonths,
  usageLogs,
  usageMonths,
} from './tables.ts'

/** Writes events with their sums, each event once: `saveMissing` leaves out those that are there already, or given twice. */
export type UsageWriter = {
  save(events: Timed[]): Promise<void>
  saveMissing(events: Timed[]): Promise<void>
}

export function createUsageWriter(db: Db): UsageWriter {
  let statements: ReturnType<typeof prepareStatements> | undefined

  const insert = (tx: Tx, events: Timed[]) => {
    if (events.length === 0) return
    statements ??= prepareStatements(tx)
    insertLogs(tx, events)
    for (const day of sumDays(events)) statements.day.run(day)
    for (const month of sumMonths(events)) statements.month.run(month)
    for (const month of sumKeyMonths(events)) statements.keyMonth.run(month)
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

/** All rows with one statement: as JSON a row costs a fifth of what it costs as parameters. */
function insertLogs(tx: Tx, events: Timed[]): void {
  const rows = events.map((event) => [
    event.userId,
    event.agentId,
    event.model,
    event.inputTokens,
    event.outputTokens,
    event.costMicroUsd,
    event.endpoint,
    event.latencyMs,
    event.errorMessage === null ? 1 : 0,
    event.errorMessage,
    event.at.getTime(),
    event.generationId,
    event.provider,
    event.keyId,
    event.attempts,
    event.isOwnKey ? 1 : 0,
    event.isEstimated ? 1 : 0,
  ])
  tx.run(sql`
    INSERT INTO usage_logs (user_id, agent_id, model, input_tokens, output_tokens, cost_micro_usd, endpoint,
      latency_ms, success, error_message, created_at, generation_id, provider, key_id, attempts, is_own_key, estimated)
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
      value ->> 7, value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, value ->> 13, value ->> 14, value ->> 15, value ->> 16
    FROM json_each(${JSON.stringify(rows)})`)
}

/** One row for each user, day, agent and model. */
function sumDays(events: Timed[]) {
  const sums = new Map<string, ReturnType<typeof toDayRow>>()
  for (const event of events) {
    const row = toDayRow(event)
    const key = [row.day, row.userId, row.agentId, row.model, row.provider].join('\n')
    const sum = sums.get(key)
    if (sum === undefined) {
      sums.set(key, row)
      continue
    }
    sum.inputTokens += row.inputTokens
    sum.outputTokens += row.outputTokens
    sum.costMicroUsd += row.costMicroUsd
    sum.calls += 1
    sum.estimatedTokens += row.estimatedTokens
    sum.estimatedCostMicroUsd += row.estimatedCostMicroUsd
  }
  return sums.values()
}

function toDayRow({ at, isEstimated, ...event }: Timed) {
  const { userId, agentId, model, provider, inputTokens, outputTokens, costMicroUsd } = event
  return {
    day: toDay(at),
    userId,
    agentId,
    model,
    provider,
    inputTokens,
    outputTokens,
    costMicroUsd,
    calls: 1,
    estimatedTokens: isEstimated ? inputTokens + outputTokens : 0,
    estimatedCostMicroUsd: isEstimated ? costMicroUsd : 0,
  }
}

/** One row for each user and month, of what counts against a plan. */
function sumMonths(events: Timed[]) {
  const sums = new Map<string, { month: string; userId: string; tokens: number }>()
  for (const { at, userId, isOwnKey, inputTokens, outputTokens } of events) {
    if (isOwnKey) continue
    const month = toMonth(at)
    const key = `${month}\n${userId}`
    const tokens = (sums.get(key)?.tokens ?? 0) + inputTokens + outputTokens
    sums.set(key, { month, userId, tokens })
  }
  return sums.values()
}

/** One row for each key and month. */
function sumKeyMonths(events: Timed[]) {
  const sums = new Map<string, typeof usageKeyMonths.$inferInsert>()
  for (const { keyId, at, inputTokens, outputTokens, costMicroUsd } of events) {
    if (keyId === null) continue
    const month = toMonth(at)
    const sum = sums.get(`${month}\n${keyId}`) ?? { keyId, month, tokens: 0, costMicroUsd: 0, calls: 0 }
    sum.tokens += inputTokens + outputTokens
    sum.costMicroUsd += costMicroUsd
    sum.calls += 1
    sums.set(`${month}\n${keyId}`, sum)
  }
  return sums.values()
}

/** Prepared with the first completion and kept. */
function prepareStatements(tx: Tx) {
  const value = sql.placeholder
  return {
    day: tx
      .insert(usageDays)
      .values({
        userId: value('userId'),
        day: value('day'),
        agentId: value('agentId'),
        model: value('model'),
        provider: value('provider'),
        inputTokens: value('inputTokens'),
        outputTokens: value('outputTokens'),
        costMicroUsd: value('costMicroUsd'),
        calls: value('calls'),
        estimatedTokens: value('estimatedTokens'),
        estimatedCostMicroUsd: value('estimatedCostMicroUsd'),
      })
      .onConflictDoUpdate({
        target: [usageDays.userId, usageDays.day, usageDays.agentId, usageDays.model, usageDays.provider],
        set: addedDaySums,
      })
      .prepare(),
    month: tx
      .insert(usageMonths)
      .values({ userId: value('userId'), month: value('month'), tokens: value('tokens') })
      .onConflictDoUpdate({
        target: [usageMonths.userId, usageMonths.month],
        set: addedMonthSums,
      })
      .prepare(),
    keyMonth: tx
      .insert(usageKeyMonths)
      .values({
        keyId: value('keyId'),
        month: value('month'),
        tokens: value('tokens'),
        costMicroUsd: value('costMicroUsd'),
        calls: value('calls'),
      })
      .onConflictDoUpdate({ target: [usageKeyMonths.keyId, usageKeyMonths.month], set: addedKeySums })
      .prepare(),
  }
}
