import { and, eq, sql } from 'drizzle-orm'
import { type Clock, toDay } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { type MicroUsd, toMicroUsd } from '../../core/money.ts'
import type { Db } from '../../db/open.ts'
import { usageDays } from '../usage/tables.ts'

/** Whose usage the demo is booked as (Spec 4.6). */
export const DEMO_USER = 'demo'

export type DemoBudget = {
  /** Sets `costMicroUsd` aside until `release`. @throws AppError `unavailable` when the day's money is spent. */
  reserve(costMicroUsd: MicroUsd): { release(): void }
}

/** What all strangers together may cost in a day (UTC). Calls reserve before they are dispatched, so they cannot pass it together. */
export function createDemoBudget(deps: { db: Db; clock: Clock; dailyBudgetUsd: number }): DemoBudget {
  const budget = toMicroUsd(deps.dailyBudgetUsd)
  let held = 0
  return {
    reserve(costMicroUsd) {
      if (spentToday(deps) + held + costMicroUsd > budget) {
        throw new AppError('unavailable', 'The demo has used up its budget for today. Please come back tomorrow.')
      }
      held += costMicroUsd
      let isHeld = true
      return {
        release() {
          if (isHeld) held -= costMicroUsd
          isHeld = false
        },
      }
    },
  }
}

function spentToday({ db, clock }: { db: Db; clock: Clock }): MicroUsd {
  const isToday = and(eq(usageDays.userId, DEMO_USER), eq(usageDays.day, toDay(clock.now())))
  const row = db
    .select({ costMicroUsd: sql<number>`coalesce(sum(${usageDays.costMicroUsd}), 0)` })
    .from(usageDays)
    .where(isToday)
    .get()
  return row?.costMicroUsd ?? 0
}
