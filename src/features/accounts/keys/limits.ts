import { AppError } from '../../../core/errors.ts'
import { type MicroUsd, toMicroUsd, toUsd } from '../../../core/money.ts'
import { toScope } from '../../../core/scopes.ts'
import { isIn, parseRanges } from '../../../http/address.ts'
import type { Guardrails } from '../guardrails/schemas.ts'
import type { BudgetIncrease, Limits } from './schemas.ts'
import type { ApiKeyRow } from './tables.ts'

/** Limits of an API key in addition to its owner's plan; null means no limit. Months are UTC. The budget includes a present increase. */
export type KeyLimits = {
  id: string
  budgetMicroUsd: MicroUsd | null
  tokensPerMonth: number | null
  models: readonly string[] | null
  requestsPerMinute: number | null
  /** The most that each end user of the key may cost per month. */
  endUserBudgetMicroUsd: MicroUsd | null
  /** Stores the bodies of the key's requests. */
  logBodies: boolean
  guardrails: Guardrails | null
  /** Seconds that answers are repeated to the same request; null without a cache. */
  cacheSeconds: number | null
}

type LimitColumns = Pick<
  ApiKeyRow,
  'budgetMicroUsd' | 'tokensPerMonth' | 'models' | 'requestsPerMinute' | 'endUserBudgetMicroUsd'
>

/** Returns the columns that a request sets; missing fields stay unchanged. */
export function toLimitColumns(
  request: Partial<{ [Name in keyof Limits]: Limits[Name] | undefined }>,
): Partial<LimitColumns> {
  const { monthlyBudgetUsd, monthlyTokens, models, requestsPerMinute, endUserBudgetUsd } = request
  return {
    ...(monthlyBudgetUsd !== undefined && { budgetMicroUsd: toMicroUsdOrNull(monthlyBudgetUsd) }),
    ...(endUserBudgetUsd !== undefined && { endUserBudgetMicroUsd: toMicroUsdOrNull(endUserBudgetUsd) }),
    ...(monthlyTokens !== undefined && { tokensPerMonth: monthlyTokens }),
    ...(models !== undefined && { models }),
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
  }
}

function toMicroUsdOrNull(usd: number | null): MicroUsd | null {
  return usd === null ? null : toMicroUsd(usd)
}

function toUsdOrNull(microUsd: MicroUsd | null): number | null {
  return microUsd === null ? null : toUsd(microUsd)
}

export function toLimits(row: LimitColumns): Limits {
  return {
    monthlyBudgetUsd: toUsdOrNull(row.budgetMicroUsd),
    monthlyTokens: row.tokensPerMonth,
    models: row.models,
    requestsPerMinute: row.requestsPerMinute,
    endUserBudgetUsd: toUsdOrNull(row.endUserBudgetMicroUsd),
  }
}

type IncreaseColumns = Pick<ApiKeyRow, 'budgetIncreaseMicroUsd' | 'budgetIncreaseUntil'>

type KeyColumns = Pick<ApiKeyRow, 'id' | 'logBodies' | 'guardrails' | 'cacheSeconds'> & LimitColumns & IncreaseColumns

export function toKeyLimits(row: KeyColumns, now: Date): KeyLimits {
  const { id, tokensPerMonth, models, requestsPerMinute, endUserBudgetMicroUsd } = row
  const limits = {
    budgetMicroUsd: budgetAt(row, now),
    tokensPerMonth,
    models,
    requestsPerMinute,
    endUserBudgetMicroUsd,
  }
  const { logBodies, guardrails, cacheSeconds } = row
  return { id, ...limits, logBodies, guardrails, cacheSeconds }
}

/** Returns the monthly budget that counts at `now`. */
function budgetAt(row: Pick<ApiKeyRow, 'budgetMicroUsd'> & IncreaseColumns, now: Date): MicroUsd | null {
  const { budgetMicroUsd, budgetIncreaseMicroUsd, budgetIncreaseUntil } = row
  if (budgetMicroUsd === null || budgetIncreaseMicroUsd === null) return budgetMicroUsd
  return budgetIncreaseUntil !== null && budgetIncreaseUntil > now
    ? budgetMicroUsd + budgetIncreaseMicroUsd
    : budgetMicroUsd
}

/** @throws AppError `invalid` for an increase that has already ended. */
export function toIncreaseColumns(increase: BudgetIncrease | null | undefined, now: Date): Partial<IncreaseColumns> {
  if (increase === undefined) return {}
  if (increase === null) return { budgetIncreaseMicroUsd: null, budgetIncreaseUntil: null }
  const until = new Date(increase.until)
  if (until <= now) throw new AppError('invalid', 'budgetIncrease.until must be in the future')
  return { budgetIncreaseMicroUsd: toMicroUsd(increase.usd), budgetIncreaseUntil: until }
}

/** @throws AppError `invalid` when there is no budget to increase. */
export function requireIncreasedBudget({
  budgetMicroUsd,
  budgetIncreaseMicroUsd,
}: Partial<Pick<ApiKeyRow, 'budgetMicroUsd' | 'budgetIncreaseMicroUsd'>>): void {
  if (budgetIncreaseMicroUsd != null && budgetMicroUsd == null)
    throw new AppError('invalid', 'budgetIncrease needs a monthlyBudgetUsd to increase')
}

export function toBudgetIncrease({
  budgetIncreaseMicroUsd,
  budgetIncreaseUntil,
}: IncreaseColumns): BudgetIncrease | null {
  if (budgetIncreaseMicroUsd === null || budgetIncreaseUntil === null) return null
  return { usd: toUsd(budgetIncreaseMicroUsd), until: budgetIncreaseUntil.toISOString() }
}

/** @throws AppError `forbidden` ADDRESS_NOT_ALLOWED when the key has allowed ranges and the client's address is in none of them. */
export function requireAllowedAddress(ranges: readonly string[], client?: { readonly address: string | null }): void {
  if (ranges.length === 0) return
  const address = client?.address ?? null
  if (address !== null && isIn(address, parseRanges(ranges))) return
  throw new AppError('forbidden', 'This key may not be used from this address', { code: 'ADDRESS_NOT_ALLOWED' })
}

/** Limits on money, tokens or models. The request rate is separate: it applies to every use of the key. */
type SpendingLimits = Pick<ApiKeyRow, 'budgetMicroUsd' | 'tokensPerMonth' | 'models' | 'endUserBudgetMicroUsd'>

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
export function isLimited(limits: Partial<SpendingLimits>): boolean {
  const { budgetMicroUsd, tokensPerMonth, models, endUserBudgetMicroUsd } = limits
  return [budgetMicroUsd, tokensPerMonth, models, endUserBudgetMicroUsd].some(
    (limit) => limit !== undefined && limit !== null,
  )
}
