import { and, eq, sql } from 'drizzle-orm'
import { type Clock, toMonth } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import type { Db } from '../../db/open.ts'
import type { Plan } from '../plans/plans.ts'
import { usageMonths } from './tables.ts'

/** Tokens set aside for a call under way. `release` gives them back once its real usage is recorded, or it failed. */
export type Reservation = { release(): void }
export type Quota = { reserve(userId: string, plan: Plan, tokens: number): Reservation }

/**
 * The monthly token quota (Spec 8). A call reserves what it may use before it is dispatched, so calls in parallel cannot
 * pass the limit together. Reservations live in memory: only one process serves a database.
 */
export function createQuota(deps: { db: Db; clock: Clock }): Quota {
  const reserved = new Map<string, number>()
  const usedTokens = deps.db
    .select({ tokens: usageMonths.tokens })
    .from(usageMonths)
    .where(and(eq(usageMonths.userId, sql.placeholder('userId')), eq(usageMonths.month, sql.placeholder('month'))))
    .prepare()

  return {
    /** @throws AppError `limited` QUOTA_EXCEEDED when used, reserved and asked-for tokens pass the plan's. */
    reserve(userId, plan, tokens) {
      if (plan.tokensPerMonth === null) return { release() {} }
      const used = usedTokens.get({ userId, month: toMonth(deps.clock.now()) })?.tokens ?? 0
      const held = reserved.get(userId) ?? 0
      if (used + held + tokens > plan.tokensPerMonth) throw quotaExceeded(plan, used)
      reserved.set(userId, held + tokens)
      let isHeld = true
      return {
        release() {
          if (!isHeld) return
          isHeld = false
          const left = (reserved.get(userId) ?? 0) - tokens
          if (left > 0) reserved.set(userId, left)
          else reserved.delete(userId)
        },
      }
    },
  }
}

function quotaExceeded(plan: Plan, used: number): AppError {
  const message = `Monthly token quota exceeded for plan "${plan.name}". Used ${used} of ${plan.tokensPerMonth} tokens. Quota resets at the start of next month.`
  return new AppError('limited', message, { code: 'QUOTA_EXCEEDED' })
}
