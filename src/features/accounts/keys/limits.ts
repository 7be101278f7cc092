import { AppError } from '../../../core/errors.ts'
import { type MicroUsd, toMicroUsd, toUsd } from '../../../core/money.ts'
import { toScope } from '../../../core/scopes.ts'
import type { Limits } from './schemas.ts'
import type { ApiKeyRow } from './tables.ts'

/** What an API key allows beside its owner's plan; null means no limit. Months are UTC. */
export type KeyLimits = {
  id: string
  budgetMicroUsd: MicroUsd | null
  tokensPerMonth: number | null
  models: readonly string[] | null
  requestsPerMinute: number | null
}

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

/** What a stored key allows. */
export function toKeyLimits({ id, budgetMicroUsd, tokensPerMonth, models, requestsPerMinute }: ApiKeyRow): KeyLimits {
  return { id, budgetMicroUsd, tokensPerMonth, models, requestsPerMinute }
}

/** What the limits of a key are about: money, tokens or models. A rate limits whatever it is used for. */
type SpendingLimits = Pick<ApiKeyRow, 'budgetMicroUsd' | 'tokensPerMonth' | 'models'>

/** A scope that opens nothing. */
const NONE = 'none'

/**
 * The scopes that a key has. Limits end where an agent acts, so a key with limits of money, tokens or models is for models
 * alone (decisions, 49), also one that was stored with other scopes.
 */
export function scopesOf(row: SpendingLimits & Pick<ApiKeyRow, 'scopes'>): readonly string[] {
  if (!isLimited(row)) return row.scopes
  if (row.scopes.length === 0) return ['models']
  const ofModels = row.scopes.filter((scope) => toScope(scope) === 'models')
  return ofModels.length > 0 ? ofModels : [NONE]
}

/** @throws AppError `invalid` when a key with limits of money, tokens or models is to do more than ask models. */
export function requireModelsOnly(row: Partial<SpendingLimits> & { scopes: readonly string[] }): void {
  if (!isLimited(row) || row.scopes.every((scope) => toScope(scope) === 'models')) return
  throw new AppError('invalid', 'A key with limits of money, tokens or models has the scope models only')
}

/** Does it hold its key to so much money, so many tokens, or these models? */
export function isLimited({ budgetMicroUsd, tokensPerMonth, models }: Partial<SpendingLimits>): boolean {
  return [budgetMicroUsd, tokensPerMonth, models].some((limit) => limit !== undefined && limit !== null)
}
