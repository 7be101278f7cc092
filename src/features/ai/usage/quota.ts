import { AppError } from '../../../core/errors.ts'
import { type MicroUsd, toUsd } from '../../../core/money.ts'
import type { KeyLimits } from '../../accounts/keys/limits.ts'
import type { Plan } from '../../accounts/plans/plans.ts'
import type { RunningSums, Sums } from './running-sums.ts'

/**
 * A further limit on what calls may use: what is used of it so far, and what whoever would pass it is told. `isOfMoney`: a
 * model whose price nobody knows cannot be held to it.
 */
export type Budget = {
  id: string
  used(): Sums
  maxTokens: number
  maxCostMicroUsd: MicroUsd
  isOfMoney: boolean
  exceeded(used: Sums): AppError
}

export type Spender = { userId: string; plan: Plan; key: KeyLimits | null; budget?: Budget }
/** What a call may use at most. */
export type Estimate = { tokens: number; costMicroUsd: MicroUsd }

/**
 * What is set aside for a call under way. `release` gives it back once its real usage is recorded, or it failed.
 * `isTight`: what is left after it is so little that the call must not use more than was estimated.
 */
export type Reservation = { isTight: boolean; release(): void }
export type Quota = { reserve(spender: Spender, estimate: Estimate): Reservation }

/** With less than so many calls' worth left, every one is held to its estimate. */
const TIGHT_CALLS = 64
const UNLIMITED: Reservation = { isTight: false, release() {} }

/** One limit that a call counts against. */
type Account = { id: string; used: Sums; maxTokens: number; maxCostMicroUsd: number; exceeded(used: Sums): AppError }

/**
 * The monthly limits of plans and keys (Interface 8). A call reserves what it may use before it is dispatched, so calls in
 * parallel cannot pass a limit together. Reservations live in memory: only one process serves a database.
 */
export function createQuota(deps: { userSums: RunningSums; keySums: RunningSums }): Quota {
  const held = new Map<string, Sums>()

  const heldBy = (id: string) => held.get(id) ?? { tokens: 0, costMicroUsd: 0 }
  const hold = (id: string, { tokens, costMicroUsd }: Estimate, sign: 1 | -1) => {
    const before = heldBy(id)
    const after = {
      tokens: before.tokens + sign * tokens,
      costMicroUsd: before.costMicroUsd + sign * costMicroUsd,
    }
    if (after.tokens > 0 || after.costMicroUsd > 0) held.set(id, after)
    else held.delete(id)
  }
  const fits = (
    { id, used, maxTokens, maxCostMicroUsd }: Account,
    { tokens, costMicroUsd }: Estimate,
    calls: number,
  ) => {
    const others = heldBy(id)
    return (
      used.tokens + others.tokens + tokens * calls <= maxTokens &&
      used.costMicroUsd + others.costMicroUsd + costMicroUsd * calls <= maxCostMicroUsd
    )
  }

  return {
    /**
     * @throws AppError `limited` QUOTA_EXCEEDED when used, reserved and asked-for tokens pass the plan's, KEY_QUOTA_EXCEEDED
     * for the key's own tokens or budget.
     */
    reserve(spender, estimate) {
      const accounts = accountsOf(deps, spender)
      if (accounts.length === 0) return UNLIMITED
      for (const account of accounts) if (!fits(account, estimate, 1)) throw account.exceeded(account.used)
      const isTight = accounts.some((account) => !fits(account, estimate, TIGHT_CALLS))
      for (const { id } of accounts) hold(id, estimate, 1)
      let isHeld = true
      return {
        isTight,
        release() {
          if (isHeld) for (const { id } of accounts) hold(id, estimate, -1)
          isHeld = false
        },
      }
    },
  }
}

function accountsOf(
  deps: { userSums: RunningSums; keySums: RunningSums },
  { userId, plan, key, budget }: Spender,
): Account[] {
  const accounts: Account[] = []
  if (plan.tokensPerMonth !== null || plan.costMicroUsdPerMonth !== null)
    accounts.push(accountOfPlan(deps.userSums, userId, plan))
  if (key && (key.tokensPerMonth !== null || key.budgetMicroUsd !== null))
    accounts.push(accountOfKey(deps.keySums, key))
  if (budget) accounts.push({ ...budget, used: budget.used() })
  return accounts
}

function accountOfPlan(userSums: RunningSums, userId: string, plan: Spender['plan']): Account {
  return {
    id: userId,
    used: userSums.used(userId),
    maxTokens: plan.tokensPerMonth ?? Number.POSITIVE_INFINITY,
    maxCostMicroUsd: plan.costMicroUsdPerMonth ?? Number.POSITIVE_INFINITY,
    exceeded: (used) => quotaExceeded(plan, used),
  }
}

function accountOfKey(keySums: RunningSums, key: NonNullable<Spender['key']>): Account {
  return {
    id: key.id,
    used: keySums.used(key.id),
    maxTokens: key.tokensPerMonth ?? Number.POSITIVE_INFINITY,
    maxCostMicroUsd: key.budgetMicroUsd ?? Number.POSITIVE_INFINITY,
    exceeded: (used) => keyQuotaExceeded(key, used),
  }
}

function quotaExceeded({ name, tokensPerMonth, costMicroUsdPerMonth }: Plan, used: Sums): AppError {
  const tokens = tokensPerMonth === null ? [] : [`${used.tokens} of ${tokensPerMonth} tokens`]
  const cost = costMicroUsdPerMonth === null ? [] : [`$${toUsd(used.costMicroUsd)} of $${toUsd(costMicroUsdPerMonth)}`]
  const quota = costMicroUsdPerMonth === null ? 'token quota' : 'quota'
  const message = `Monthly ${quota} exceeded for plan "${name}". Used ${[...tokens, ...cost].join(', ')}. Quota resets at the start of next month.`
  return new AppError('limited', message, { code: 'QUOTA_EXCEEDED' })
}

function keyQuotaExceeded(key: KeyLimits, used: Sums): AppError {
  const tokens = key.tokensPerMonth === null ? [] : [`${used.tokens} of ${key.tokensPerMonth} tokens`]
  const cost = key.budgetMicroUsd === null ? [] : [`$${toUsd(used.costMicroUsd)} of $${toUsd(key.budgetMicroUsd)}`]
  const message = `Monthly limit of this key exceeded. Used ${[...tokens, ...cost].join(', ')}. It resets at the start of next month.`
  return new AppError('limited', message, { code: 'KEY_QUOTA_EXCEEDED' })
}
