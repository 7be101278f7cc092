import { sql } from 'drizzle-orm'
import { toDay, toMonth } from '../../../core/clock.ts'
import type { MicroUsd } from '../../../core/money.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import {
  addedDaySums,
  addedEndUserSums,
  addedKeyDaySums,
  addedKeySums,
  addedMonthSums,
  type PriceSource,
  type TrailStep,
  usageDays,
  usageEndUserMonths,
  usageKeyDays,
  usageKeyMonths,
  usageLogs,
  usageMonths,
  usageTags,
} from './tables.ts'

/**
 * Facts for the request log. `firstTokenMs` is the time to the first chunk of a streamed answer. `callId` is the generation
 * id of the first attempt, and `trail` lists the attempts so far; both are null for a call's first attempt. `tags` are
 * distinct.
 */
type CallDetail = {
  firstTokenMs: number | null
  priceSource: PriceSource | null
  finishReason: string | null
  callId: string | null
  trail: readonly TrailStep[] | null
  endUser: string | null
  tags: readonly string[] | null
}

const NO_DETAIL: CallDetail = {
  ...{ firstTokenMs: null, priceSource: null, finishReason: null },
  ...{ callId: null, trail: null, endUser: null, tags: null },
}

/**
 * One completion, successful or not. `generationId` makes the record unique and is returned to the caller. `model` and
 * `provider` served the call, or were tried first when none did. `isOwnKey`: the user's own provider key paid. `isEstimated`:
 * the tokens were counted or reserved because no provider reported them. `costMicroUsd` is null when unknown.
 */
export type UsageEvent = {
  generationId: string
  keyId: string | null
  provider: string
  attempts: number
  isOwnKey: boolean
  isEstimated: boolean
  userId: string
  agentId: string
  model: string
  /** All prompt tokens, those read from the provider's cache or written to it included. */
  inputTokens: number
  cachedInputTokens: number
  cacheCreationTokens: number
  cacheCreationHourTokens: number
  outputTokens: number
  costMicroUsd: MicroUsd | null
  endpoint: string
  latencyMs: number
  errorMessage: string | null
  /** The cost by list prices of a call whose cost the provider reported; null when one of them is unknown. */
  listCostMicroUsd?: MicroUsd | null
} & Partial<CallDetail>

/** Cache tokens of a call that used no provider's cache. */
export const UNCACHED = { cachedInputTokens: 0, cacheCreationTokens: 0, cacheCreationHourTokens: 0 } as const

/** An event with its time. */
export type Timed = UsageEvent & { at: Date }

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
    for (const event of events) statements.log.run(toLogRow(event))
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

function toLogRow({ errorMessage, at, isEstimated, costMicroUsd, ...event }: Timed): typeof usageLogs.$inferInsert {
  const cost = { costMicroUsd: costMicroUsd ?? 0, isUnpriced: costMicroUsd === null }
  return {
    ...NO_DETAIL,
    ...event,
    ...cost,
    success: errorMessage === null,
    errorMessage,
    createdAt: at,
    estimated: isEstimated,
  }
}

/** One row for each user, day, agent and model. */
function sumDays(events: Timed[]) {
  const sums = new Map<string, ReturnType<typeof toDayRow>>()
  for (const event of events) {
    const { at, isEstimated, isOwnKey, inputTokens, outputTokens } = event
    const costMicroUsd = event.costMicroUsd ?? 0
    const day = toDay(at)
    const key = `${day}\n${event.userId}\n${event.agentId}\n${event.model}\n${event.provider}`
    const sum = sums.get(key) ?? toDayRow(day, event)
    if (sum.calls === 0) sums.set(key, sum)
    sum.inputTokens += inputTokens
    sum.cachedInputTokens += event.cachedInputTokens
    sum.cacheCreationTokens += event.cacheCreationTokens + event.cacheCreationHourTokens
    sum.outputTokens += outputTokens
    sum.costMicroUsd += costMicroUsd
    sum.calls += 1
    sum.unpricedCalls += countUnpriced(event)
    if (isOwnKey) sum.ownKeyCostMicroUsd += costMicroUsd
    if (event.listCostMicroUsd != null) {
      sum.reportedCalls += 1
      sum.reportedCostMicroUsd += costMicroUsd
      sum.listCostMicroUsd += event.listCostMicroUsd
    }
    if (!isEstimated) continue
    sum.estimatedTokens += inputTokens + outputTokens
    sum.estimatedCostMicroUsd += costMicroUsd
  }
  return sums.values()
}

function toDayRow(day: string, { userId, agentId, model, provider }: Timed) {
  const nothing = {
    inputTokens: 0,
    cachedInputTokens: 0,
    cacheCreationTokens: 0,
    outputTokens: 0,
    costMicroUsd: 0,
    calls: 0,
    unpricedCalls: 0,
    ownKeyCostMicroUsd: 0,
    ...{ reportedCalls: 0, reportedCostMicroUsd: 0, listCostMicroUsd: 0 },
  }
  return { day, userId, agentId, model, provider, ...nothing, estimatedTokens: 0, estimatedCostMicroUsd: 0 }
}

function countUnpriced({ costMicroUsd }: Timed): number {
  return costMicroUsd === null ? 1 : 0
}

/** One row for each user and month, without calls that the user's own provider key paid. */
function sumMonths(events: Timed[]) {
  const sums = new Map<string, { month: string; userId: string; tokens: number; costMicroUsd: number }>()
  for (const { at, userId, isOwnKey, inputTokens, outputTokens, costMicroUsd } of events) {
    if (isOwnKey) continue
    const month = toMonth(at)
    const key = `${month}\n${userId}`
    const sum = sums.get(key) ?? { month, userId, tokens: 0, costMicroUsd: 0 }
    sum.tokens += inputTokens + outputTokens
    sum.costMicroUsd += costMicroUsd ?? 0
    sums.set(key, sum)
  }
  return sums.values()
}

const NO_KEY_USE = { tokens: 0, costMicroUsd: 0, calls: 0, unpricedCalls: 0 }

/** One row for each key and month. */
function sumKeyMonths(events: Timed[]) {
  const sums = new Map<string, typeof usageKeyMonths.$inferSelect>()
  for (const event of events) {
    const { keyId, at, inputTokens, outputTokens, costMicroUsd } = event
    if (keyId === null) continue
    const month = toMonth(at)
    const sum = sums.get(`${month}\n${keyId}`) ?? { keyId, month, ...NO_KEY_USE }
    sum.tokens += inputTokens + outputTokens
    sum.costMicroUsd += costMicroUsd ?? 0
    sum.calls += 1
    sum.unpricedCalls += countUnpriced(event)
    sums.set(`${month}\n${keyId}`, sum)
  }
  return sums.values()
}

/** One row for each user, key, day and model. */
function sumKeyDays(events: Timed[]) {
  const sums = new Map<string, typeof usageKeyDays.$inferSelect>()
  for (const event of events) {
    const { userId, keyId, at, model, inputTokens, outputTokens, costMicroUsd } = event
    if (keyId === null) continue
    const day = toDay(at)
    const name = `${day}\n${userId}\n${keyId}\n${model}`
    const sum = sums.get(name) ?? { userId, keyId, day, model, ...NO_KEY_USE }
    sum.tokens += inputTokens + outputTokens
    sum.costMicroUsd += costMicroUsd ?? 0
    sum.calls += 1
    sum.unpricedCalls += countUnpriced(event)
    sums.set(name, sum)
  }
  return sums.values()
}

/** One row for each key, end user and month; calls without an end user share a row. */
function sumEndUserMonths(events: Timed[]) {
  const sums = new Map<string, typeof usageEndUserMonths.$inferSelect>()
  for (const { userId, keyId, at, inputTokens, outputTokens, costMicroUsd, endUser } of events) {
    if (keyId === null) continue
    const row = { userId, keyId, month: toMonth(at), endUser: endUser ?? '' }
    const name = `${row.month}\n${userId}\n${keyId}\n${row.endUser}`
    const sum = sums.get(name) ?? { ...row, tokens: 0, costMicroUsd: 0, calls: 0 }
    sum.tokens += inputTokens + outputTokens
    sum.costMicroUsd += costMicroUsd ?? 0
    sum.calls += 1
    sums.set(name, sum)
  }
  return sums.values()
}

function prepareStatements(tx: Tx) {
  const value = sql.placeholder
  return {
    ...prepareKeySums(tx),
    ...prepareUserSums(tx),
    log: tx
      .insert(usageLogs)
      .values({
        userId: value('userId'),
        agentId: value('agentId'),
        model: value('model'),
        inputTokens: value('inputTokens'),
        cachedInputTokens: value('cachedInputTokens'),
        cacheCreationTokens: value('cacheCreationTokens'),
        cacheCreationHourTokens: value('cacheCreationHourTokens'),
        outputTokens: value('outputTokens'),
        costMicroUsd: value('costMicroUsd'),
        isUnpriced: value('isUnpriced'),
        endpoint: value('endpoint'),
        latencyMs: value('latencyMs'),
        success: value('success'),
        errorMessage: value('errorMessage'),
        createdAt: value('createdAt'),
        generationId: value('generationId'),
        provider: value('provider'),
        keyId: value('keyId'),
        attempts: value('attempts'),
        isOwnKey: value('isOwnKey'),
        estimated: value('estimated'),
        firstTokenMs: value('firstTokenMs'),
        priceSource: value('priceSource'),
        finishReason: value('finishReason'),
        callId: value('callId'),
        trail: value('trail'),
        endUser: value('endUser'),
        tags: value('tags'),
      })
      .prepare(),
    tags: tx
      .insert(usageTags)
      .select(
        sql`SELECT ${usageLogs.id}, value, ${usageLogs.userId}, ${usageLogs.createdAt}
          FROM ${usageLogs}, json_each(${usageLogs.tags}) WHERE ${usageLogs.generationId} = ${value('generationId')}`,
      )
      .prepare(),
  }
}

function prepareUserSums(tx: Tx) {
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
        cachedInputTokens: value('cachedInputTokens'),
        cacheCreationTokens: value('cacheCreationTokens'),
        outputTokens: value('outputTokens'),
        costMicroUsd: value('costMicroUsd'),
        calls: value('calls'),
        unpricedCalls: value('unpricedCalls'),
        ownKeyCostMicroUsd: value('ownKeyCostMicroUsd'),
        estimatedTokens: value('estimatedTokens'),
        estimatedCostMicroUsd: value('estimatedCostMicroUsd'),
        reportedCalls: value('reportedCalls'),
        reportedCostMicroUsd: value('reportedCostMicroUsd'),
        listCostMicroUsd: value('listCostMicroUsd'),
      })
      .onConflictDoUpdate({
        target: [usageDays.userId, usageDays.day, usageDays.agentId, usageDays.model, usageDays.provider],
        set: addedDaySums,
      })
      .prepare(),
    month: tx
      .insert(usageMonths)
      .values({
        userId: value('userId'),
        month: value('month'),
        tokens: value('tokens'),
        costMicroUsd: value('costMicroUsd'),
      })
      .onConflictDoUpdate({
        target: [usageMonths.userId, usageMonths.month],
        set: addedMonthSums,
      })
      .prepare(),
  }
}

function prepareKeySums(tx: Tx) {
  const value = sql.placeholder
  return {
    keyMonth: tx
      .insert(usageKeyMonths)
      .values({
        keyId: value('keyId'),
        month: value('month'),
        tokens: value('tokens'),
        costMicroUsd: value('costMicroUsd'),
        calls: value('calls'),
        unpricedCalls: value('unpricedCalls'),
      })
      .onConflictDoUpdate({ target: [usageKeyMonths.keyId, usageKeyMonths.month], set: addedKeySums })
      .prepare(),
    endUserMonth: tx
      .insert(usageEndUserMonths)
      .values({
        userId: value('userId'),
        keyId: value('keyId'),
        month: value('month'),
        endUser: value('endUser'),
        tokens: value('tokens'),
        costMicroUsd: value('costMicroUsd'),
        calls: value('calls'),
      })
      .onConflictDoUpdate({
        target: [
          usageEndUserMonths.userId,
          usageEndUserMonths.keyId,
          usageEndUserMonths.month,
          usageEndUserMonths.endUser,
        ],
        set: addedEndUserSums,
      })
      .prepare(),
    keyDay: tx
      .insert(usageKeyDays)
      .values({
        userId: value('userId'),
        day: value('day'),
        keyId: value('keyId'),
        model: value('model'),
        tokens: value('tokens'),
        costMicroUsd: value('costMicroUsd'),
        calls: value('calls'),
        unpricedCalls: value('unpricedCalls'),
      })
      .onConflictDoUpdate({
        target: [usageKeyDays.userId, usageKeyDays.day, usageKeyDays.keyId, usageKeyDays.model],
        set: addedKeyDaySums,
      })
      .prepare(),
  }
}
