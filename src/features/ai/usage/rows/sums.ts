import { toDay, toMonth } from '../../../../core/clock.ts'
import type { usageEndUserMonths, usageKeyDays, usageKeyMonths } from '../tables.ts'
import type { Timed } from './event.ts'

/** One row for each user, day, agent and model. */
export function sumDays(events: Timed[]) {
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
export function sumMonths(events: Timed[]) {
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
export function sumKeyMonths(events: Timed[]) {
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
export function sumKeyDays(events: Timed[]) {
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
export function sumEndUserMonths(events: Timed[]) {
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
