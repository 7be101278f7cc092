import { and, eq } from 'drizzle-orm'
import { type Clock, toMonth } from '../../core/clock.ts'
import type { MicroUsd } from '../../core/money.ts'
import type { Db } from '../../db/open.ts'
import { readKeyUsage } from './key-usage.ts'
import { usageMonths } from './tables.ts'

export type Sums = { tokens: number; costMicroUsd: MicroUsd }

/** What each user, or each key, has used this month (UTC), held in memory: the quota asks on every call. */
export type MonthlySums = {
  used(id: string): Sums
  /** Counts what is about to be written. Nothing to do for ids that nobody has asked about: they are read then. */
  add(id: string, sums: Sums): void
}

/** Tokens of users; what they cost is no limit of a plan and stays 0. */
export function createUserSums(deps: { db: Db; clock: Clock }): MonthlySums {
  return createMonthlySums(deps.clock, (userId, month) => {
    const isThis = and(eq(usageMonths.userId, userId), eq(usageMonths.month, month))
    const row = deps.db.select({ tokens: usageMonths.tokens }).from(usageMonths).where(isThis).get()
    return { tokens: row?.tokens ?? 0, costMicroUsd: 0 }
  })
}

/** Tokens and cost of keys. */
export function createKeySums(deps: { db: Db; clock: Clock }): MonthlySums {
  return createMonthlySums(deps.clock, (keyId, month) => readKeyUsage(deps.db, keyId, month))
}

/** Reads a month once with `read`, then counts. Exact, because only one process serves a database. */
function createMonthlySums(clock: Clock, read: (id: string, month: string) => Sums): MonthlySums {
  const sums = new Map<string, Sums>()
  let month = ''

  const ofThisMonth = () => {
    const now = toMonth(clock.now())
    // A clock that goes back does not open a month that is over.
    if (now > month) {
      sums.clear()
      month = now
    }
    return sums
  }

  return {
    used(id) {
      const known = ofThisMonth().get(id)
      if (known) return known
      const { tokens, costMicroUsd } = read(id, month)
      const stored = { tokens, costMicroUsd }
      sums.set(id, stored)
      return stored
    },
    add(id, added) {
      const known = ofThisMonth().get(id)
      if (!known) return
      known.tokens += added.tokens
      known.costMicroUsd += added.costMicroUsd
    },
  }
}
