import { AppError } from '../../../core/errors.ts'
import { toMicroUsd } from '../../../core/money.ts'
import type { Budget } from '../usage/quota.ts'
import type { RunningSums } from '../usage/running-sums.ts'

/** Whose usage the demo is booked as (Interface 4.6). */
export const DEMO_USER = 'demo'

/** What all strangers together may cost in a day (UTC). */
export function createDemoBudget(deps: { daySums: RunningSums; dailyBudgetUsd: number }): Budget {
  return {
    id: DEMO_USER,
    used: () => deps.daySums.used(DEMO_USER),
    maxTokens: Number.POSITIVE_INFINITY,
    isOfMoney: true,
    maxCostMicroUsd: toMicroUsd(deps.dailyBudgetUsd),
    exceeded: () =>
      new AppError('unavailable', 'The demo has used up its budget for today. Please come back tomorrow.'),
  }
}
