import { and, eq, gte, lt, type SQL, sql } from 'drizzle-orm'
import { type Clock, toDay, toMonth } from '../../../core/clock.ts'
import { toMicroUsd, toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { getKey } from '../../accounts/keys/keys.ts'
import { type KeyLimits, toKeyLimits } from '../../accounts/keys/limits.ts'
import type { Plan } from '../../accounts/plans/plans.ts'
import { toCostUsd, toMissing, toShownCost } from '../usage/costs.ts'
import { listDays } from '../usage/day-slices.ts'
import { type KeyUsage, listKeyDays, readKeyUsage } from '../usage/key-usage.ts'
import type { RunningSums, Spender } from '../usage/quota.ts'
import { usageDays } from '../usage/tables.ts'
import type { KeyReport, MyUsage } from './schemas.ts'

export type MyUsageDeps = { db: Db; clock: Clock; userSums: RunningSums }

/** The user whose usage is requested, or one agent of that user. */
type Asker = Spender & { agentId: string | null }

/**
 * Returns the usage of this month (UTC) and the remaining quota of the plan and of the caller's key. An agent also sees its
 * own share of the plan.
 */
export function getMyUsage(deps: MyUsageDeps, { userId, agentId, plan, key }: Asker): MyUsage {
  const now = deps.clock.now()
  const { windowStart, windowEnd } = monthOf(now)
  const isOfAgent = agentId === null ? undefined : eq(usageDays.agentId, agentId)
  const isInMonth = and(gte(usageDays.day, toDay(windowStart)), lt(usageDays.day, toDay(windowEnd)))
  const byModel = listByModel(deps.db, and(eq(usageDays.userId, userId), isInMonth, isOfAgent))
  return {
    windowStart: windowStart.toISOString(),
    windowEnd: windowEnd.toISOString(),
    plan: plan.name,
    tokens: toMeter(deps.userSums.used(userId).tokens, plan.tokensPerMonth),
    key: key && toKeyMeters(key, readKeyUsage(deps.db, key.id, toMonth(now))),
    agent: agentId === null ? null : { id: agentId, ...sumOf(byModel) },
    byModel,
  }
}

/** Returns the usage of a key this month (UTC) and on each of the last days. @throws AppError `not_found` for another user's key. */
export function getKeyReport(deps: { db: Db; clock: Clock }, userId: string, keyId: string, days: number): KeyReport {
  const now = deps.clock.now()
  const key = toKeyLimits(getKey(deps.db, userId, keyId), now)
  const { windowStart, windowEnd } = monthOf(now)
  return {
    windowStart: windowStart.toISOString(),
    windowEnd: windowEnd.toISOString(),
    month: toKeyMeters(key, readKeyUsage(deps.db, key.id, toMonth(now))),
    ...listKeyDays(deps.db, userId, key.id, listDays({ last: now, days })),
  }
}

function monthOf(now: Date) {
  const startOf = (month: number) => new Date(Date.UTC(now.getUTCFullYear(), month, 1))
  return { windowStart: startOf(now.getUTCMonth()), windowEnd: startOf(now.getUTCMonth() + 1) }
}

function toKeyMeters(key: KeyLimits, used: KeyUsage): KeyReport['month'] {
  return {
    id: key.id,
    calls: used.calls,
    tokens: toMeter(used.tokens, key.tokensPerMonth),
    costUsd: {
      ...toMeter(toUsd(used.costMicroUsd), key.budgetMicroUsd === null ? null : toUsd(key.budgetMicroUsd)),
      used: toCostUsd(used),
    },
    ...toMissing(used),
    requestsPerMinute: key.requestsPerMinute,
    models: key.models === null ? null : [...key.models],
  }
}

function toMeter(used: number, limit: Plan['tokensPerMonth']) {
  return { used, limit, remaining: limit === null ? null : Math.max(0, limit - used) }
}

function listByModel(db: Db, isOf: SQL | undefined): MyUsage['byModel'] {
  return db
    .select({
      model: usageDays.model,
      calls: sql<number>`sum(${usageDays.calls})`,
      tokens: sql<number>`sum(${usageDays.inputTokens} + ${usageDays.outputTokens})`,
      costMicroUsd: sql<number>`sum(${usageDays.costMicroUsd})`,
      unpricedCalls: sql<number>`sum(${usageDays.unpricedCalls})`,
      estimatedTokens: sql<number>`sum(${usageDays.estimatedTokens})`,
    })
    .from(usageDays)
    .where(isOf)
    .groupBy(usageDays.model)
    .all()
    .map(toShownCost)
    .sort((one, other) => (other.costUsd ?? 0) - (one.costUsd ?? 0) || other.tokens - one.tokens)
}

function sumOf(lines: MyUsage['byModel']) {
  const unpricedCalls = lines.reduce((sum, line) => sum + (line.unpricedCalls ?? 0), 0)
  const costMicroUsd = lines.reduce((sum, line) => sum + toMicroUsd(line.costUsd ?? 0), 0)
  return {
    calls: lines.reduce((sum, line) => sum + line.calls, 0),
    tokens: lines.reduce((sum, line) => sum + line.tokens, 0),
    costUsd: toCostUsd({ costMicroUsd, unpricedCalls }),
    ...toMissing({ unpricedCalls }),
    estimatedTokens: lines.reduce((sum, line) => sum + line.estimatedTokens, 0),
  }
}
