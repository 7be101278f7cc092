import { AppError } from '../../../core/errors.ts'
import { type MicroUsd, toMicroUsd, toUsd } from '../../../core/money.ts'
import { toScope } from '../../../core/scopes.ts'
import type { Limits } from './schemas.ts'
import type { ApiKeyRow } from './tables.ts'

/** Limits of an API key in addition to its owner's plan; null means no limit. Months are UTC. */
export type KeyLimits = {
  id: string
  budgetMicroUsd: MicroUsd | null
  tokensPerMonth: number | null
  models: readonly string[] | null
  requestsPerMinute: number | null
}

type LimitColumns = Pick<ApiKeyRow, 'budgetMicroUsd' | 'tokensPerMonth' | 'models' | 'requestsPerMinute'>

/** Returns the columns that a request sets; missing fields stay unchanged. */
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

export function toKeyLimits({ id, budgetMicroUsd, tokensPerMonth, models, requestsPerMinute }: ApiKeyRow): KeyLimits {
  return { id, budgetMicroUsd, tokensPerMonth, models, requestsPerMinute }
}

/** Limits on money, tokens or models. The request rate is separate: it applies to every use of the key. */
type SpendingLimits = Pick<ApiKeyRow, 'budgetMicroUsd' | 'tokensPerMonth' | 'models'>

/** A scope that permits nothing. */
const NONE = 'none'

/**
 * Returns the effective scopes of a key. A key with spending limits is restricted to models even when other scopes are
 * stored, because usage by agents is not counted against the key.
 */
export function scopesOf(row: SpendingLimits & Pick<ApiKeyRow, 'scopes'>): readonly string[] {
  if (!isLimited(row)) return row.scopes
  if (row.scopes.length === 0) return ['models']
  const ofModels = row.scopes.filter((scope) => toScope(scope) === 'models')
  return ofModels.length > 0 ? ofModels : [NONE]
}

/** @throws AppError `invalid` when a key with spending limits has scopes other than `models`. */
export function requireModelsOnly(row: Partial<SpendingLimits> & { scopes: readonly string[] }): void {
  if (!isLimited(row) || row.scopes.every((scope) => toScope(scope) === 'models')) return
  throw new AppError('invalid', 'A key with limits of money, tokens or models has the scope models only')
}

/** Returns whether the key limits money, tokens or models. */
export function isLimited({ budgetMicroUsd, tokensPerMonth, models }: Partial<SpendingLimits>): boolean {
  return [budgetMicroUsd, tokensPerMonth, models].some((limit) => limit !== undefined && limit !== null)
}
