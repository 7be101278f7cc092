import { type MicroUsd, toUsd } from '../../../core/money.ts'

/** The cost of some calls: the sum over those whose cost is known, and the number of those whose cost is not. */
export type CostSum = { costMicroUsd: MicroUsd; unpricedCalls: number }

export const NO_COST: CostSum = { costMicroUsd: 0, unpricedCalls: 0 }

/** Returns US dollars, or null when no cost is known, which is not the same as free. */
export function toCostUsd({ costMicroUsd, unpricedCalls }: CostSum): number | null {
  return costMicroUsd === 0 && unpricedCalls > 0 ? null : toUsd(costMicroUsd)
}

/** Returns the number of unpriced calls as a response field, omitted when zero. */
export function toMissing({ unpricedCalls }: Pick<CostSum, 'unpricedCalls'>): { unpricedCalls?: number } {
  return unpricedCalls > 0 ? { unpricedCalls } : {}
}

/** Replaces the cost of a row of sums with US dollars as responses show them. */
export function toShownCost<Row extends CostSum>({ costMicroUsd, unpricedCalls, ...row }: Row) {
  const cost = { costMicroUsd, unpricedCalls }
  return { ...row, costUsd: toCostUsd(cost), ...toMissing(cost) }
}

/** Adds the costs of several groups of calls. */
export function addCosts(costs: Iterable<CostSum>): CostSum {
  const total = { ...NO_COST }
  for (const { costMicroUsd, unpricedCalls } of costs) {
    total.costMicroUsd += costMicroUsd
    total.unpricedCalls += unpricedCalls
  }
  return total
}
