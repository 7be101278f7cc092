import { and, eq, like } from 'drizzle-orm'
import { type Clock, toMonth } from '../../core/clock.ts'
import { toUsd } from '../../core/money.ts'
import type { Db } from '../../db/open.ts'
import type { Plan } from '../plans/plans.ts'
import { readKeyUsage } from '../usage/key-usage.ts'
import type { MonthlySums } from '../usage/monthly-sums.ts'
import type { Spender } from '../usage/quota.ts'
import { usageDays } from '../usage/tables.ts'
import type { MyUsage } from './schemas.ts'

export type MyUsageDeps = { db: Db; clock: Clock; userSums: MonthlySums }

/** What the caller has used this month (UTC) and what is left: of the plan, and of the key that asks. Models over all keys. */
export function getMyUsage(deps: MyUsageDeps, { userId, plan, key }: Spender): MyUsage {
  const now = deps.clock.now()
  const month = toMonth(now)
  const used = deps.userSums.used(userId).tokens
  const keyUsed = key && readKeyUsage(deps.db, key.id, month)
  return {
    windowStart: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)).toISOString(),
    windowEnd: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString(),
    plan: plan.name,
    tokens: toMeter(used, plan.tokensPerMonth),
    key: key &&
      keyUsed && {
        id: key.id,
        calls: keyUsed.calls,
        tokens: toMeter(keyUsed.tokens, key.tokensPerMonth),
        costUsd: toMeter(toUsd(keyUsed.costMicroUsd), key.budgetMicroUsd === null ? null : toUsd(key.budgetMicroUsd)),
        requestsPerMinute: key.requestsPerMinute,
        models: key.models === null ? null : [...key.models],
      },
    byModel: listByModel(deps.db, userId, month),
  }
}

function toMeter(used: number, limit: Plan['tokensPerMonth']) {
  return { used, limit, remaining: limit === null ? null : Math.max(0, limit - used) }
}

function listByModel(db: Db, userId: string, month: string): MyUsage['byModel'] {
  const isThis = and(eq(usageDays.userId, userId), like(usageDays.day, `${month}-%`))
  const rows = db.select().from(usageDays).where(isThis).all()
  return [...Map.groupBy(rows, ({ model }) => model)]
    .map(([model, days]) => ({
      model,
      calls: days.reduce((sum, day) => sum + day.calls, 0),
      tokens: days.reduce((sum, day) => sum + day.inputTokens + day.outputTokens, 0),
      costUsd: toUsd(days.reduce((sum, day) => sum + day.costMicroUsd, 0)),
    }))
    .sort((one, other) => other.costUsd - one.costUsd || other.tokens - one.tokens)
}
