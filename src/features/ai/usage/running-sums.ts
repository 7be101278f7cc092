import { and, eq, type SQL, sql } from 'drizzle-orm'
import { type Clock, toDay, toMonth } from '../../../core/clock.ts'
import type { MicroUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { readKeyUsage } from './key-usage.ts'
import { usageDays, usageMonths } from './tables.ts'

export type Sums = { tokens: number; costMicroUsd: MicroUsd }

/** What each user, key or agent has used in the present month or day (UTC), held in memory: limits ask on every call. */
export type RunningSums = {
  used(id: string): Sums
  /** Counts what was used at a time and is about to be written. */
  add(id: string, at: Date, sums: Sums): void
}

/** So many months or days stay in memory: a clock that jumps and comes back finds the one it left. */
const PERIODS_KEPT = 3

/** Tokens and cost of users in a month. */
export function createUserSums(deps: { db: Db; clock: Clock }): RunningSums {
  return createRunningSums(deps.clock, toMonth, (userId, month) => {
    const isThis = and(eq(usageMonths.userId, userId), eq(usageMonths.month, month))
    const { tokens, costMicroUsd } = usageMonths
    return (
      deps.db.select({ tokens, costMicroUsd }).from(usageMonths).where(isThis).get() ?? { tokens: 0, costMicroUsd: 0 }
    )
  })
}

/** Tokens and cost of keys in a month. */
export function createKeySums(deps: { db: Db; clock: Clock }): RunningSums {
  return createRunningSums(deps.clock, toMonth, (keyId, month) => {
    const { tokens, costMicroUsd } = readKeyUsage(deps.db, keyId, month)
    return { tokens, costMicroUsd }
  })
}

/** Tokens and cost of users in a day. */
export function createDaySums(deps: { db: Db; clock: Clock }): RunningSums {
  return createRunningSums(deps.clock, toDay, (userId, day) =>
    sumDay(deps.db, and(eq(usageDays.userId, userId), eq(usageDays.day, day))),
  )
}

/** Tokens and cost of agents in a day, whoever's keys paid for them. */
export function createAgentSums(deps: { db: Db; clock: Clock }): RunningSums {
  return createRunningSums(deps.clock, toDay, (agentId, day) =>
    sumDay(deps.db, and(eq(usageDays.agentId, agentId), eq(usageDays.day, day))),
  )
}

/** Returns how many calls of an agent on a day have no known cost. */
export function countUnpricedCalls(db: Db, agentId: string, day: string): number {
  const unpriced = sql<number>`coalesce(sum(${usageDays.unpricedCalls}), 0)`
  const isOfDay = and(eq(usageDays.agentId, agentId), eq(usageDays.day, day))
  return db.select({ unpriced }).from(usageDays).where(isOfDay).get()?.unpriced ?? 0
}

function sumDay(db: Db, isCounted: SQL | undefined): Sums {
  const { inputTokens, outputTokens, costMicroUsd } = usageDays
  const row = db
    .select({
      tokens: sql<number>`coalesce(sum(${inputTokens} + ${outputTokens}), 0)`,
      costMicroUsd: sql<number>`coalesce(sum(${costMicroUsd}), 0)`,
    })
    .from(usageDays)
    .where(isCounted)
    .get()
  return row ?? { tokens: 0, costMicroUsd: 0 }
}

/**
 * Reads a period once with `read`, then counts. Exact, because only one process serves a database, and because whoever is
 * first counted is read before anything of it is written. The period is the clock's at every call: one that jumped forth
 * or back counts again in the right one as soon as it is set right.
 */
function createRunningSums(
  clock: Clock,
  toPeriod: (time: Date) => string,
  read: (id: string, period: string) => Sums,
): RunningSums {
  const periods = new Map<string, Map<string, Sums>>()
  const find = (id: string, time: Date): Sums => {
    const period = toPeriod(time)
    const sums = periods.get(period) ?? openPeriod(period)
    const known = sums.get(id)
    if (known) return known
    const stored = read(id, period)
    sums.set(id, stored)
    return stored
  }
  const openPeriod = (period: string) => {
    const [oldest] = periods.keys()
    if (oldest !== undefined && periods.size >= PERIODS_KEPT) periods.delete(oldest)
    const sums = new Map<string, Sums>()
    periods.set(period, sums)
    return sums
  }

  return {
    used: (id) => find(id, clock.now()),
    add(id, at, added) {
      const known = find(id, at)
      known.tokens += added.tokens
      known.costMicroUsd += added.costMicroUsd
    },
  }
}
