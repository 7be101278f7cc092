import { and, eq, gte, type SQL, sql } from 'drizzle-orm'
import QuickLRU from 'quick-lru'
import { type Clock, toDay, toMonth } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { startOfLocalDay, toLocalDay } from '../../../core/local-day.ts'
import { type MicroUsd, toUsd } from '../../../core/money.ts'
import { memoize } from '../../../db/changes.ts'
import type { Db } from '../../../db/open.ts'
import type { KeyLimits } from '../../accounts/keys/limits.ts'
import type { Plan } from '../../accounts/plans/plans.ts'
import { findOwnerTimeZone } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { readKeyUsage } from './key-usage.ts'
import { usageDays, usageEndUserMonths, usageLogs, usageMonths } from './tables.ts'

/** A further limit on calls, its current usage and its error. `isOfMoney`: models without a known price cannot be used. */
export type Budget = {
  id: string
  used(): Sums
  maxTokens: number
  maxCostMicroUsd: MicroUsd
  isOfMoney: boolean
  exceeded(used: Sums): AppError
}

export type Spender = { userId: string; plan: Plan; key: KeyLimits | null; budget?: Budget }
/** The most that a call may use. */
export type Estimate = { tokens: number; costMicroUsd: MicroUsd }

/**
 * The part of a quota that a running call reserves. `release` returns it after the real usage is recorded.
 * `isTight`: so little quota remains that the call must not exceed its estimate.
 */
type Reservation = { isTight: boolean; release(): void }
/** `endUser` is the end user that the call names; it counts where the key limits its end users. */
export type Quota = { reserve(spender: Spender, estimate: Estimate, endUser: string | null): Reservation }

/** A quota that allows fewer calls than this is tight. */
const TIGHT_CALLS = 64
const UNLIMITED: Reservation = { isTight: false, release() {} }

type QuotaSums = { userSums: RunningSums; keySums: RunningSums; endUserSums: RunningSums }

/** One limit that a call counts against. */
type Account = { id: string; used: Sums; maxTokens: number; maxCostMicroUsd: number; exceeded(used: Sums): AppError }

/**
 * Enforces the monthly limits of plans and keys. Each call reserves its estimate first, so parallel calls cannot exceed a
 * limit together. Reservations are kept in memory because only one process serves a database.
 */
export function createQuota(deps: QuotaSums): Quota {
  const held = new Map<string, Sums>()

  const heldBy = (id: string) => held.get(id) ?? { tokens: 0, costMicroUsd: 0 }
  const hold = (id: string, { tokens, costMicroUsd }: Estimate, sign: 1 | -1) => {
    const before = heldBy(id)
    const after = {
      tokens: before.tokens + sign * tokens,
      costMicroUsd: before.costMicroUsd + sign * costMicroUsd,
    }
    if (after.tokens > 0 || after.costMicroUsd > 0) held.set(id, after)
    else held.delete(id)
  }
  const fits = (
    { id, used, maxTokens, maxCostMicroUsd }: Account,
    { tokens, costMicroUsd }: Estimate,
    calls: number,
  ) => {
    const others = heldBy(id)
    return (
      used.tokens + others.tokens + tokens * calls <= maxTokens &&
      used.costMicroUsd + others.costMicroUsd + costMicroUsd * calls <= maxCostMicroUsd
    )
  }

  return {
    /**
     * @throws AppError `limited` QUOTA_EXCEEDED for the plan, KEY_QUOTA_EXCEEDED for the key, END_USER_QUOTA_EXCEEDED for an
     * end user of the key, or the budget's own error.
     */
    reserve(spender, estimate, endUser) {
      const accounts = accountsOf(deps, spender, endUser)
      if (accounts.length === 0) return UNLIMITED
      for (const account of accounts) if (!fits(account, estimate, 1)) throw account.exceeded(account.used)
      const isTight = accounts.some((account) => !fits(account, estimate, TIGHT_CALLS))
      for (const { id } of accounts) hold(id, estimate, 1)
      let isHeld = true
      return {
        isTight,
        release() {
          if (isHeld) for (const { id } of accounts) hold(id, estimate, -1)
          isHeld = false
        },
      }
    },
  }
}

function accountsOf(deps: QuotaSums, { userId, plan, key, budget }: Spender, endUser: string | null): Account[] {
  const accounts: Account[] = []
  if (plan.tokensPerMonth !== null || plan.costMicroUsdPerMonth !== null)
    accounts.push(accountOfPlan(deps.userSums, userId, plan))
  if (key && (key.tokensPerMonth !== null || key.budgetMicroUsd !== null))
    accounts.push(accountOfKey(deps.keySums, key))
  if (key && key.endUserBudgetMicroUsd !== null)
    accounts.push(accountOfEndUser(deps.endUserSums, toEndUserId(userId, key.id, endUser), key.endUserBudgetMicroUsd))
  if (budget) accounts.push({ ...budget, used: budget.used() })
  return accounts
}

function accountOfPlan(userSums: RunningSums, userId: string, plan: Spender['plan']): Account {
  return {
    id: userId,
    used: userSums.used(userId),
    maxTokens: plan.tokensPerMonth ?? Number.POSITIVE_INFINITY,
    maxCostMicroUsd: plan.costMicroUsdPerMonth ?? Number.POSITIVE_INFINITY,
    exceeded: (used) => quotaExceeded(plan, used),
  }
}

function accountOfKey(keySums: RunningSums, key: NonNullable<Spender['key']>): Account {
  return {
    id: key.id,
    used: keySums.used(key.id),
    maxTokens: key.tokensPerMonth ?? Number.POSITIVE_INFINITY,
    maxCostMicroUsd: key.budgetMicroUsd ?? Number.POSITIVE_INFINITY,
    exceeded: (used) => keyQuotaExceeded(key, used),
  }
}

function accountOfEndUser(endUserSums: RunningSums, id: string, maxCostMicroUsd: MicroUsd): Account {
  return {
    id,
    used: endUserSums.used(id),
    maxTokens: Number.POSITIVE_INFINITY,
    maxCostMicroUsd,
    exceeded: (used) => endUserQuotaExceeded(used, maxCostMicroUsd),
  }
}

function quotaExceeded({ name, tokensPerMonth, costMicroUsdPerMonth }: Plan, used: Sums): AppError {
  const tokens = tokensPerMonth === null ? [] : [`${used.tokens} of ${tokensPerMonth} tokens`]
  const cost = costMicroUsdPerMonth === null ? [] : [`$${toUsd(used.costMicroUsd)} of $${toUsd(costMicroUsdPerMonth)}`]
  const quota = costMicroUsdPerMonth === null ? 'token quota' : 'quota'
  const message = `Monthly ${quota} exceeded for plan "${name}". Used ${[...tokens, ...cost].join(', ')}. Quota resets at the start of next month.`
  return new AppError('limited', message, { code: 'QUOTA_EXCEEDED' })
}

function keyQuotaExceeded(key: KeyLimits, used: Sums): AppError {
  const tokens = key.tokensPerMonth === null ? [] : [`${used.tokens} of ${key.tokensPerMonth} tokens`]
  const cost = key.budgetMicroUsd === null ? [] : [`$${toUsd(used.costMicroUsd)} of $${toUsd(key.budgetMicroUsd)}`]
  const message = `Monthly limit of this key exceeded. Used ${[...tokens, ...cost].join(', ')}. It resets at the start of next month.`
  return new AppError('limited', message, { code: 'KEY_QUOTA_EXCEEDED' })
}

function endUserQuotaExceeded(used: Sums, budgetMicroUsd: MicroUsd): AppError {
  const message = `Monthly budget of this end user exceeded. Used $${toUsd(used.costMicroUsd)} of $${toUsd(budgetMicroUsd)}. It resets at the start of next month.`
  return new AppError('limited', message, { code: 'END_USER_QUOTA_EXCEEDED' })
}

export type Sums = { tokens: number; costMicroUsd: MicroUsd }

/** Usage of each user, key or agent in the current month or day (UTC), kept in memory because every call checks it. */
export type RunningSums = {
  used(id: string): Sums
  /** Adds usage that is about to be written. */
  add(id: string, at: Date, sums: Sums): void
}

/** Returns the id of an end user of a key in `RunningSums`. Calls without an end user share one. */
export function toEndUserId(userId: string, keyId: string, endUser: string | null | undefined): string {
  return `${userId}\n${keyId}\n${endUser ?? ''}`
}

/** End users kept in memory. Callers choose their names. */
const MAX_END_USERS = 20_000

type SumMap = { get(id: string): Sums | undefined; set(id: string, sums: Sums): unknown }

/** Periods kept in memory, so that a clock that jumps and returns finds its period again. */
const PERIODS_KEPT = 5

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

/** Tokens and cost of end users in a month, by `toEndUserId`. */
export function createEndUserSums(deps: { db: Db; clock: Clock }): RunningSums {
  const { userId, keyId, month, endUser, tokens, costMicroUsd } = usageEndUserMonths
  const byId = deps.db
    .select({ tokens, costMicroUsd })
    .from(usageEndUserMonths)
    .where(
      and(
        eq(userId, sql.placeholder('userId')),
        eq(keyId, sql.placeholder('keyId')),
        eq(month, sql.placeholder('month')),
        eq(endUser, sql.placeholder('endUser')),
      ),
    )
    .prepare()
  const read = (id: string, month: string) => {
    const [userId, keyId, ...name] = id.split('\n')
    return byId.get({ userId, keyId, month, endUser: name.join('\n') }) ?? { tokens: 0, costMicroUsd: 0 }
  }
  return createRunningSums(deps.clock, toMonth, read, () => new QuickLRU({ maxSize: MAX_END_USERS }))
}

/** Tokens and cost of users in a day. */
export function createDaySums(deps: { db: Db; clock: Clock }): RunningSums {
  return createRunningSums(deps.clock, toDay, (userId, day) =>
    sumDay(deps.db, and(eq(usageDays.userId, userId), eq(usageDays.day, day))),
  )
}

/** Tokens and cost of agents in a day of their owners' time zones, also with the owners' provider keys. */
export function createAgentSums({ db, clock }: { db: Db; clock: Clock }): RunningSums {
  const find = memoize(db, (agentId) => findOwnerTimeZone(db, agentId))
  const toPeriod = (time: Date, agentId: string) => toLocalDay(time, find(agentId))
  return createRunningSums(clock, toPeriod, (agentId, day) => {
    const timeZone = find(agentId)
    if (timeZone === null) return sumDay(db, and(eq(usageDays.agentId, agentId), eq(usageDays.day, day)))
    return sumSince(db, agentId, startOfLocalDay(day, timeZone))
  })
}

/** Sums calls, because the sums of days are of UTC. */
function sumSince(db: Db, agentId: string, since: Date): Sums {
  const owner = db.select({ ownerId: agents.ownerId }).from(agents).where(eq(agents.id, agentId))
  const { inputTokens, outputTokens, costMicroUsd, userId, createdAt } = usageLogs
  const isCounted = and(eq(userId, sql`${owner}`), eq(usageLogs.agentId, agentId), gte(createdAt, since))
  const row = db
    .select({
      tokens: sql<number>`coalesce(sum(${inputTokens} + ${outputTokens}), 0)`,
      costMicroUsd: sql<number>`coalesce(sum(${costMicroUsd}), 0)`,
    })
    .from(usageLogs)
    .where(isCounted)
    .get()
  return row ?? { tokens: 0, costMicroUsd: 0 }
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
 * Reads a sum once with `read`, then counts in memory. This is exact because only one process serves a database and a sum is
 * read before its first write. The clock chooses the period at every call.
 */
function createRunningSums(
  clock: Clock,
  toPeriod: (time: Date, id: string) => string,
  read: (id: string, period: string) => Sums,
  createSums: () => SumMap = () => new Map(),
): RunningSums {
  const periods = new Map<string, SumMap>()
  const find = (id: string, time: Date): Sums => {
    const period = toPeriod(time, id)
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
    const sums = createSums()
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
