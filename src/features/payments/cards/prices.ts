import { AppError } from '../../../core/errors.ts'
import { PLANS, type PlanName } from '../../accounts/plans/plans.ts'
import { MICRO_USD_PER_CREDIT } from '../ledger/accounts.ts'

/** Millionths of a currency per minor unit, a penny or cent. */
export const MICROS_PER_MINOR_UNIT = 10_000
const MINOR_UNITS = 100
const GIGABYTE = 1024 ** 3

/** Monthly price of additional storage. */
export const STORAGE_UPGRADE = { bytes: 50 * GIGABYTE, minorUnits: 39 * MINOR_UNITS } as const

/** Credit packs by name. The operator pays for the discount of larger packs. */
export const CREDIT_PACKS = {
  '50': { credits: 500, priceUsd: 5 },
  '200': { credits: 2000, priceUsd: 15 },
  '500': { credits: 5000, priceUsd: 30 },
} as const
export type CreditPack = keyof typeof CREDIT_PACKS

/** @throws AppError `invalid`. */
export function requireCreditPack(name: string | undefined): CreditPack {
  const pack = Object.keys(CREDIT_PACKS).find((known): known is CreditPack => known === name)
  if (!pack) throw new AppError('invalid', 'Invalid pack')
  return pack
}

/** Value and price of a pack in micro-dollars. */
export function priceOfPack(pack: CreditPack): { worthMicroUsd: number; priceMicroUsd: number; minorUnits: number } {
  const { credits, priceUsd } = CREDIT_PACKS[pack]
  const minorUnits = priceUsd * MINOR_UNITS
  return {
    worthMicroUsd: credits * MICRO_USD_PER_CREDIT,
    priceMicroUsd: minorUnits * MICROS_PER_MINOR_UNIT,
    minorUnits,
  }
}

/** Pence per month. */
export function priceOfPlan(plan: PlanName): number {
  return PLANS[plan].priceGbp * MINOR_UNITS
}

/** Returns the plan with this price. The charged amount decides, whatever else an event says. */
export function findPlanByPrice(currency: string, minorUnits: number): PlanName | null {
  if (currency !== 'gbp') return null
  return (
    Object.values(PLANS).flatMap(({ name, priceGbp }) => (priceGbp * MINOR_UNITS === minorUnits ? [name] : []))[0] ??
    null
  )
}
