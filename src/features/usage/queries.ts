import { and, desc, eq, gte, type SQL, sql } from 'drizzle-orm'
import { addDays, type Clock, toDay } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { toUsd } from '../../core/money.ts'
import type { Db } from '../../db/open.ts'
import type { Principal } from '../../http/env.ts'
import { toolEvents, usageDays } from './tables.ts'

export type QueryDeps = { db: Db; clock: Clock }

/** Calls that no agent made are booked under this word (Spec 4.10 shows them as null). */
const DIRECT = 'direct'

const inputTokens = sql<number>`sum(${usageDays.inputTokens})`
const outputTokens = sql<number>`sum(${usageDays.outputTokens})`
const costMicroUsd = sql<number>`sum(${usageDays.costMicroUsd})`
const calls = sql<number>`sum(${usageDays.calls})`
const sums = { inputTokens, outputTokens, costMicroUsd, calls }
type Sums = { inputTokens: number; outputTokens: number; costMicroUsd: number; calls: number }

/** One line for each day, agent, model and provider, newest first (Spec 4.10). Users see their own, the operator all. */
export function summarizeUsage(deps: QueryDeps, principal: Principal, days: number) {
  const { day, agentId, model, provider } = usageDays
  return query(() =>
    deps.db
      .select({ day, agentId, model, provider, ...sums })
      .from(usageDays)
      .where(since(deps.clock, principal, days))
      .groupBy(day, agentId, model, provider)
      .orderBy(desc(day), desc(costMicroUsd))
      .all(),
  ).map((row) => ({
    date: row.day,
    agent_id: row.agentId === DIRECT ? null : row.agentId,
    model: row.model,
    provider: row.provider,
    ...toTokens(row),
    turn_count: row.calls,
  }))
}

/** What one agent used, by model and provider (Spec 4.10): nothing of one that is not the user's, or that never was. */
export function listUsageOfAgent(deps: QueryDeps, principal: Principal, agentId: string, days: number) {
  const isThis = and(since(deps.clock, principal, days), eq(usageDays.agentId, agentId))
  return listByModel(deps.db, isThis).map(({ calls: events, ...row }) => ({ ...row, events }))
}

/** What each model was used for, the most expensive first (Spec 4.10). */
export function listUsageByModel(deps: QueryDeps, principal: Principal, days: number) {
  return listByModel(deps.db, since(deps.clock, principal, days)).map(({ calls: turns, ...row }) => ({ ...row, turns }))
}

/** The sums of each day that has any, oldest first (Spec 4.10). */
export function listDailyUsage(deps: QueryDeps, principal: Principal, days: number) {
  return query(() =>
    deps.db
      .select({ day: usageDays.day, ...sums })
      .from(usageDays)
      .where(since(deps.clock, principal, days))
      .groupBy(usageDays.day)
      .orderBy(usageDays.day)
      .all(),
  ).map((row) => {
    const { total_tokens, cost_usd } = toTokens(row)
    return { date: row.day, total_tokens, cost_usd, turns: row.calls }
  })
}

/**
 * How often each tool was used, how often that went well and how long it took on average (Spec 4.10), over one agent or
 * all: nothing of an agent that is not the user's.
 */
export function listToolUsage(deps: QueryDeps, principal: Principal, agentId: string | undefined, days: number) {
  const { toolName, success, durationMs, createdAt } = toolEvents
  const isWanted = and(
    gte(createdAt, new Date(`${firstDay(deps.clock, days)}T00:00:00Z`)),
    agentId === undefined ? undefined : eq(toolEvents.agentId, agentId),
    principal.kind === 'user' ? eq(toolEvents.userId, principal.user.id) : undefined,
  )
  return query(() =>
    deps.db
      .select({
        tool_name: toolName,
        calls: sql<number>`count(*)`,
        successes: sql<number>`sum(${success})`,
        avg_ms: sql<number | null>`round(avg(${durationMs}))`,
      })
      .from(toolEvents)
      .where(isWanted)
      .groupBy(toolName)
      .orderBy(desc(sql`count(*)`))
      .all(),
  )
}

function listByModel(db: Db, condition: SQL | undefined) {
  const { model, provider } = usageDays
  return query(() =>
    db
      .select({ model, provider, ...sums })
      .from(usageDays)
      .where(condition)
      .groupBy(model, provider)
      .orderBy(desc(costMicroUsd), desc(calls))
      .all(),
  ).map((row) => ({ model: row.model, provider: row.provider, ...toTokens(row), calls: row.calls }))
}

/** The first of the last `days` days (UTC), today included. */
function firstDay(clock: Clock, days: number): string {
  return toDay(addDays(clock.now(), 1 - days))
}

function since(clock: Clock, principal: Principal, days: number): SQL | undefined {
  const isRecent = gte(usageDays.day, firstDay(clock, days))
  return principal.kind === 'user' ? and(isRecent, eq(usageDays.userId, principal.user.id)) : isRecent
}

function toTokens({ inputTokens, outputTokens, costMicroUsd }: Sums) {
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    cost_usd: toUsd(costMicroUsd),
  }
}

/** Spec 4.10: 500 when the query failed. */
function query<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw new AppError('internal', 'Database query failed', {}, { cause: error })
  }
}
