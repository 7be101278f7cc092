import { and, eq } from 'drizzle-orm'
import { type Clock, toMonth } from '../../core/clock.ts'
import type { Db } from '../../db/open.ts'
import { usageMonths } from './tables.ts'

/** Tokens each user has used this month (UTC), held in memory: the quota asks on every call. */
export type MonthlyTokens = {
  used(userId: string): number
  /** Counts tokens that are about to be written. Nothing to do for users that nobody has asked about: they are read then. */
  add(userId: string, tokens: number): void
}

/** Reads a user's month once from the sums of `usage_months`. Exact, because only one process serves a database. */
export function createMonthlyTokens(deps: { db: Db; clock: Clock }): MonthlyTokens {
  const tokens = new Map<string, number>()
  let month = ''

  const ofThisMonth = () => {
    const now = toMonth(deps.clock.now())
    if (now !== month) tokens.clear()
    month = now
    return tokens
  }

  return {
    used(userId) {
      const known = ofThisMonth().get(userId)
      if (known !== undefined) return known
      const condition = and(eq(usageMonths.userId, userId), eq(usageMonths.month, month))
      const stored =
        deps.db.select({ tokens: usageMonths.tokens }).from(usageMonths).where(condition).get()?.tokens ?? 0
      tokens.set(userId, stored)
      return stored
    },
    add(userId, count) {
      const known = ofThisMonth().get(userId)
      if (known !== undefined) tokens.set(userId, known + count)
    },
  }
}
