import { AppError } from '../../core/errors.ts'
import type { Plan } from '../plans/plans.ts'
import type { MonthlyTokens } from './monthly-tokens.ts'

/** Tokens set aside for a call under way. `release` gives them back once its real usage is recorded, or it failed. */
export type Reservation = { release(): void }
export type Quota = { reserve(userId: string, plan: Plan, tokens: number): Reservation }

/**
 * The monthly token quota (Spec 8). A call reserves what it may use before it is dispatched, so calls in parallel cannot
 * pass the limit together. Reservations live in memory: only one process serves a database.
 */
export function createQuota(deps: { monthlyTokens: MonthlyTokens }): Quota {
  const reserved = new Map<string, number>()

  return {
    /** @throws AppError `limited` QUOTA_EXCEEDED when used, reserved and asked-for tokens pass the plan's. */
    reserve(userId, plan, tokens) {
      if (plan.tokensPerMonth === null) return { release() {} }
      const used = deps.monthlyTokens.used(userId)
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
