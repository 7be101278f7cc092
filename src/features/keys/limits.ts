import { toMicroUsd, toUsd } from '../../core/money.ts'
import type { Limits } from './schemas.ts'
import type { ApiKeyRow } from './tables.ts'

type LimitColumns = Pick<ApiKeyRow, 'budgetMicroUsd' | 'tokensPerMonth' | 'models' | 'requestsPerMinute'>

/** The columns that a request sets; what it leaves out stays. */
export function toLimitColumns(
  request: Partial<{ [Name in keyof Limits]: Limits[Name] | undefined }>,
): Partial<LimitColumns> {
  const { monthlyBudgetUsd, monthlyTokens, models, requestsPerMinute } = request
  return {
    ...(monthlyBudgetUsd !== undefined && {
      budgetMicroUsd: monthlyBudgetUsd === null ? null : toMicroUsd(monthlyBudgetUsd),
    }),
    ...(monthlyTokens !== undefined && { tokensPerMonth: monthlyTokens }),
    ...(models !== undefined && { models }),
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
  }
}

export function toLimits(row: LimitColumns): Limits {
  return {
    monthlyBudgetUsd: row.budgetMicroUsd === null ? null : toUsd(row.budgetMicroUsd),
    monthlyTokens: row.tokensPerMonth,
    models: row.models,
    requestsPerMinute: row.requestsPerMinute,
  }
}
