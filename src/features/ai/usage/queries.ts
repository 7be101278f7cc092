import { and, desc, eq, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import { addCosts, type CostSum, NO_COST, toCostUsd } from './costs.ts'
import { inDaySlices, type Span } from './day-slices.ts'
import type { DailyUsage, ToolUsage, UsageByModel, UsageOfAgent } from './schemas.ts'
import { toolDays, usageDays } from './tables.ts'

export type QueryDeps = { db: Db; clock: Clock }

/** Agent id of calls that no agent made; the API shows it as null. */
const DIRECT = 'direct'

const inputTokens = sql<number>`sum(${usageDays.inputTokens})`
const outputTokens = sql<number>`sum(${usageDays.outputTokens})`
const costMicroUsd = sql<number>`sum(${usageDays.costMicroUsd})`
const calls = sql<number>`sum(${usageDays.calls})`
const estimatedTokens = sql<number>`sum(${usageDays.estimatedTokens})`
const estimatedCostMicroUsd = sql<number>`sum(${usageDays.estimatedCostMicroUsd})`
const unpricedCalls = sql<number>`sum(${usageDays.unpricedCalls})`
const sums = { inputTokens, outputTokens, costMicroUsd, calls, unpricedCalls, estimatedTokens, estimatedCostMicroUsd }
type Sums = { [Name in keyof typeof sums]: number }

/** Returns a JSON text for each day, agent, model and provider, newest first. Users see their own usage, the operator all. */
export async function summarizeUsage(deps: QueryDeps, principal: Principal, days: number): Promise<string[]> {
  const { day, agentId, model, provider } = usageDays
  const lines: string[] = []
  await eachSlice(deps, days, (isInSlice) => {
    const rows = deps.db
      .select({ day, agentId, model, provider, ...sums })
      .from(usageDays)
      .where(and(isInSlice, isSeenBy(principal)))
      .groupBy(day, agentId, model, provider)
      .orderBy(desc(day), desc(costMicroUsd))
      .all()
    for (const row of rows) lines.push(JSON.stringify(toSummaryLine(row)))
  })
  return lines
}

function toSummaryLine(row: Sums & { day: string; agentId: string; model: string; provider: string }) {
  return {
    date: row.day,
    agent_id: row.agentId === DIRECT ? null : row.agentId,
    model: row.model,
    provider: row.provider,
    ...toTokens(row),
    turn_count: row.calls,
  }
}

/** Lists the usage of an agent by model and provider; empty for another user's agent. */
export async function listUsageOfAgent(
  deps: QueryDeps,
  principal: Principal,
  agentId: string,
  days: number,
): Promise<UsageOfAgent> {
  const rows = await listByModel(deps, days, and(isSeenBy(principal), eq(usageDays.agentId, agentId)))
  return rows.map(({ calls: events, ...row }) => ({ ...row, events }))
}

/** Lists the usage by model, the most expensive first. */
export async function listUsageByModel(deps: QueryDeps, principal: Principal, days: number): Promise<UsageByModel> {
  const rows = await listByModel(deps, days, isSeenBy(principal))
  return rows.map(({ calls: turns, ...row }) => ({ ...row, turns }))
}

/** Lists the sums of each day with usage, oldest first. */
export async function listDailyUsage(deps: QueryDeps, principal: Principal, days: number): Promise<DailyUsage> {
  const newestFirst: (Sums & { day: string })[] = []
  await eachSlice(deps, days, (isInSlice) => {
    const rows = deps.db
      .select({ day: usageDays.day, ...sums })
      .from(usageDays)
      .where(and(isInSlice, isSeenBy(principal)))
      .groupBy(usageDays.day)
      .orderBy(desc(usageDays.day))
    newestFirst.push(...rows.all())
  })
  return newestFirst.reverse().map((row) => {
    const { input_tokens: _, output_tokens: __, ...totals } = toTokens(row)
    return { date: row.day, ...totals, turns: row.calls }
  })
}

/** Lists calls, successes and average duration of each tool, of one agent or all; empty for another user's agent. */
export async function listToolUsage(
  deps: QueryDeps,
  principal: Principal,
  agentId: string | undefined,
  days: number,
): Promise<ToolUsage> {
  const isWanted = and(
    agentId === undefined ? undefined : eq(toolDays.agentId, agentId),
    principal.kind === 'user' ? eq(toolDays.userId, principal.user.id) : undefined,
  )
  const rows: ToolSums[] = []
  const read = (isInSlice: SQL) => void rows.push(...readToolSums(deps.db, and(isInSlice, isWanted)))
  await query(() => inDaySlices(toolDays.day, { last: deps.clock.now(), days }, read))
  return [...Map.groupBy(rows, ({ toolName }) => toolName)]
    .map(([tool_name, group]) => ({ tool_name, ...toToolFigures(group) }))
    .sort((one, other) => other.calls - one.calls)
}

type ToolSums = ReturnType<typeof readToolSums>[number]

function toToolFigures(group: ToolSums[]) {
  const timedCalls = total(group, ({ timedCalls }) => timedCalls)
  return {
    calls: total(group, ({ calls }) => calls),
    successes: total(group, ({ successes }) => successes),
    avg_ms: timedCalls > 0 ? Math.round(total(group, ({ durationMs }) => durationMs) / timedCalls) : null,
  }
}

function readToolSums(db: Db, condition: SQL | undefined) {
  return db
    .select({
      toolName: toolDays.toolName,
      calls: sql<number>`sum(${toolDays.calls})`,
      successes: sql<number>`sum(${toolDays.successes})`,
      timedCalls: sql<number>`sum(${toolDays.timedCalls})`,
      durationMs: sql<number>`sum(${toolDays.durationMs})`,
    })
    .from(toolDays)
    .where(condition)
    .groupBy(toolDays.toolName)
    .all()
}

async function listByModel(deps: QueryDeps, days: number, condition: SQL | undefined) {
  const { model, provider } = usageDays
  const rows: (Sums & { model: string; provider: string })[] = []
  await eachSlice(deps, days, (isInSlice) => {
    const slice = deps.db
      .select({ model, provider, ...sums })
      .from(usageDays)
      .where(and(isInSlice, condition))
      .groupBy(model, provider)
    rows.push(...slice.all())
  })
  return [...Map.groupBy(rows, (row) => `${row.model}\n${row.provider}`).values()]
    .map((group) => ({ model: group[0]?.model ?? '', provider: group[0]?.provider ?? '', ...addUp(group) }))
    .sort((one, other) => other.costMicroUsd - one.costMicroUsd || other.calls - one.calls)
    .map((row) => ({ model: row.model, provider: row.provider, ...toTokens(row), calls: row.calls }))
}

function addUp(rows: Sums[]): Sums {
  return {
    inputTokens: total(rows, (row) => row.inputTokens),
    outputTokens: total(rows, (row) => row.outputTokens),
    costMicroUsd: total(rows, (row) => row.costMicroUsd),
    calls: total(rows, (row) => row.calls),
    unpricedCalls: total(rows, (row) => row.unpricedCalls),
    estimatedTokens: total(rows, (row) => row.estimatedTokens),
    estimatedCostMicroUsd: total(rows, (row) => row.estimatedCostMicroUsd),
  }
}

function total<Row>(rows: Row[], numberOf: (row: Row) => number): number {
  return rows.reduce((sum, row) => sum + numberOf(row), 0)
}

/** Returns the cost of each agent in `span`, limited by `condition`. */
export async function sumCostByAgent(db: Db, span: Span, condition: SQL | undefined): Promise<Map<string, CostSum>> {
  const spent = new Map<string, CostSum>()
  await inDaySlices(usageDays.day, span, (isInSlice) => {
    const rows = db
      .select({ agentId: usageDays.agentId, costMicroUsd, unpricedCalls })
      .from(usageDays)
      .where(and(isInSlice, condition))
      .groupBy(usageDays.agentId)
    for (const { agentId, ...cost } of rows.all()) spent.set(agentId, addCosts([spent.get(agentId) ?? NO_COST, cost]))
  })
  return spent
}

/** The last `days` days (UTC), today included. */
function eachSlice(deps: QueryDeps, days: number, read: (isInSlice: SQL) => void): Promise<void> {
  return query(() => inDaySlices(usageDays.day, { last: deps.clock.now(), days }, read))
}

function isSeenBy(principal: Principal): SQL | undefined {
  return principal.kind === 'user' ? eq(usageDays.userId, principal.user.id) : undefined
}

function toTokens(row: Sums) {
  const { inputTokens, outputTokens, unpricedCalls, estimatedTokens, estimatedCostMicroUsd } = row
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    cost_usd: toCostUsd(row),
    ...(unpricedCalls > 0 && { unpriced_calls: unpricedCalls }),
    estimated_tokens: estimatedTokens,
    estimated_cost_usd: toUsd(estimatedCostMicroUsd),
  }
}

async function query(run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    throw new AppError('internal', 'Database query failed', {}, { cause: error })
  }
}
