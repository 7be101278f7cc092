import { and, eq, type SQL } from 'drizzle-orm'
import { addDays, type Clock, toDay } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { agents } from '../../agents/registry/tables.ts'
import { toCostUsd, toMissing } from './costs.ts'
import { inDaySlices } from './day-slices.ts'
import type { CostDashboard, CostQuery } from './schemas.ts'
import { usageDays } from './tables.ts'

type Period = CostQuery['period']
/** The estimated parts are those that no provider reported. */
type Sums = {
  tokens: number
  inputTokens: number
  cachedInputTokens: number
  costMicroUsd: number
  calls: number
  unpricedCalls: number
  ownKeyCostMicroUsd: number
  estimatedTokens: number
  estimatedCostMicroUsd: number
}
/** Sums of an agent with a model, and of a day. */
type Pair = Sums & { agentId: string; name: string; model: string }
type Read = { rows: number; pairs: Pair[]; days: Map<string, Sums> }

/**
 * Returns the cost of a user's agents in a period. Without usage, or when it cannot be read, returns marked sample data.
 * @throws AppError `internal` when the figures cannot be combined.
 */
export async function getCostDashboard(
  deps: { db: Db; clock: Clock; log: Log },
  userId: string,
  period: Period,
): Promise<CostDashboard> {
  const days = listDays(period, deps.clock.now())
  const read = await tryReadSums(deps, userId, days.length)
  if (read === null)
    return sampleDashboard(period, days.map(toDayLabel), 'Usage could not be read. These are sample figures.')
  try {
    if (read.rows === 0 && !hasAnyUsage(deps.db, userId)) {
      return sampleDashboard(period, days.map(toDayLabel), 'No usage yet. These are sample figures.')
    }
    return toDashboard(period, days, read)
  } catch (error) {
    deps.log.error(`[Cost API] Error: ${errorMessage(error)}`)
    throw new AppError('internal', 'Failed to fetch cost data', {}, { cause: error })
  }
}

/** @returns null when the query fails; the specification prescribes sample data and this exact log line. */
async function tryReadSums(
  deps: { db: Db; clock: Clock; log: Log },
  userId: string,
  days: number,
): Promise<Read | null> {
  try {
    const read = await readSums(deps, userId, days)
    deps.log.info(`[Cost API] Found ${sum(read.pairs).calls} usage logs`)
    return read
  } catch (error) {
    deps.log.error(`[Cost API] Prisma error: ${errorMessage(error)}`)
    return null
  }
}

const NOTHING: Sums = {
  tokens: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  costMicroUsd: 0,
  calls: 0,
  unpricedCalls: 0,
  ownKeyCostMicroUsd: 0,
  estimatedTokens: 0,
  estimatedCostMicroUsd: 0,
}

/** Days of the period in order, today last (UTC). */
function listDays(period: Period, today: Date): string[] {
  const count = { '7d': 7, '30d': 30, mtd: today.getUTCDate() }[period]
  return Array.from({ length: count }, (_, index) => toDay(addDays(today, index + 1 - count)))
}

async function readSums({ db, clock }: { db: Db; clock: Clock }, userId: string, days: number): Promise<Read> {
  const pairs = new Map<string, Pair>()
  const byDay = new Map<string, Sums>()
  let rows = 0
  await inDaySlices(usageDays.day, { last: clock.now(), days }, (isInSlice) => {
    const slice = readSlice(db, and(eq(usageDays.userId, userId), isInSlice))
    rows += slice.length
    for (const { usage, name } of slice) {
      const { agentId, model } = usage
      const sums = toSums(usage)
      addTo(pairs, `${agentId}\n${model}`, { agentId, name: name ?? agentId, model, ...sums })
      addTo(byDay, usage.day, sums)
    }
  })
  return { rows, pairs: [...pairs.values()], days: byDay }
}

function readSlice(db: Db, condition: SQL | undefined) {
  return db
    .select({ usage: usageDays, name: agents.name })
    .from(usageDays)
    .leftJoin(agents, eq(agents.id, usageDays.agentId))
    .where(condition)
    .all()
}

function addTo<Counted extends Sums>(sums: Map<string, Counted>, key: string, counted: Counted): void {
  const known = sums.get(key)
  if (known) add(known, counted)
  else sums.set(key, { ...counted })
}

function toSums({ inputTokens, cachedInputTokens, outputTokens, ...usage }: typeof usageDays.$inferSelect): Sums {
  const { costMicroUsd, calls, unpricedCalls, ownKeyCostMicroUsd, estimatedTokens, estimatedCostMicroUsd } = usage
  const costs = { costMicroUsd, unpricedCalls, ownKeyCostMicroUsd }
  const tokens = { tokens: inputTokens + outputTokens, inputTokens, cachedInputTokens }
  return { ...tokens, calls, ...costs, estimatedTokens, estimatedCostMicroUsd }
}

function hasAnyUsage(db: Db, userId: string): boolean {
  return (
    db.select({ day: usageDays.day }).from(usageDays).where(eq(usageDays.userId, userId)).limit(1).get() !== undefined
  )
}

function toSummary(total: Sums): CostDashboard['summary'] {
  return {
    totalCost: toCostUsd(total),
    ...(total.ownKeyCostMicroUsd > 0 && { ownKeyCost: toUsd(total.ownKeyCostMicroUsd) }),
    totalTokens: total.tokens,
    ...(total.cachedInputTokens > 0 && { cacheHitRate: total.cachedInputTokens / total.inputTokens }),
    totalCalls: total.calls,
    ...toMissing(total),
    avgCostPerCall: average(total),
    estimatedCost: toUsd(total.estimatedCostMicroUsd),
    estimatedTokens: total.estimatedTokens,
  }
}

function toDailyLine(day: string, sums: Sums): CostDashboard['daily'][number] {
  return { date: toDayLabel(day), cost: toCostUsd(sums), tokens: sums.tokens, ...toMissing(sums) }
}

function toDashboard(period: Period, days: string[], { pairs, days: byDay }: Read): CostDashboard {
  const total = sum(pairs)
  return {
    period,
    summary: toSummary(total),
    agents: [...Map.groupBy(pairs, (pair) => pair.agentId).values()]
      .map(toAgentLine)
      .sort((one, other) => (other.cost ?? 0) - (one.cost ?? 0) || other.tokens - one.tokens),
    daily: days.map((day) => toDailyLine(day, byDay.get(day) ?? NOTHING)),
    modelBreakdown: [...Map.groupBy(pairs, (pair) => pair.model)]
      .map(([model, group]) => ({ model, ...share(sum(group), total) }))
      .sort((one, other) => (other.cost ?? 0) - (one.cost ?? 0) || other.percent - one.percent),
    isMockData: false,
  }
}

function toAgentLine(pairs: Pair[]): CostDashboard['agents'][number] {
  const total = sum(pairs)
  const mostUsed = pairs.toSorted((one, other) => other.tokens - one.tokens)[0]
  return {
    name: mostUsed?.name ?? '',
    tokens: total.tokens,
    cost: toCostUsd(total),
    calls: total.calls,
    ...toMissing(total),
    avgCostPerCall: average(total),
    estimatedTokens: total.estimatedTokens,
    model: mostUsed?.model ?? '',
  }
}

function sum(rows: Sums[]): Sums {
  const total = { ...NOTHING }
  for (const row of rows) add(total, row)
  return total
}

function add(to: Sums, added: Sums): void {
  to.tokens += added.tokens
  to.inputTokens += added.inputTokens
  to.cachedInputTokens += added.cachedInputTokens
  to.costMicroUsd += added.costMicroUsd
  to.calls += added.calls
  to.unpricedCalls += added.unpricedCalls
  to.ownKeyCostMicroUsd += added.ownKeyCostMicroUsd
  to.estimatedTokens += added.estimatedTokens
  to.estimatedCostMicroUsd += added.estimatedCostMicroUsd
}

/** Over the calls whose cost is known; null when there are calls and no known cost. */
function average(sums: Sums): number | null {
  const pricedCalls = sums.calls - sums.unpricedCalls
  if (toCostUsd(sums) === null) return null
  return pricedCalls > 0 ? toUsd(Math.round(sums.costMicroUsd / pricedCalls)) : 0
}

/** A model's share of the cost; of the tokens when nothing cost anything. */
function share(part: Sums, whole: Sums): Omit<CostDashboard['modelBreakdown'][number], 'model'> {
  const ratio = whole.costMicroUsd > 0 ? part.costMicroUsd / whole.costMicroUsd : part.tokens / (whole.tokens || 1)
  return { percent: Math.round(ratio * 1000) / 10, cost: toCostUsd(part), ...toMissing(part) }
}

/** `Mar 17` */
function toDayLabel(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' })
}

const AGENTS = [
  { name: 'Sample research agent', model: 'anthropic/claude-opus-4.6', tokens: 820_000, cost: 6.15, calls: 205 },
  { name: 'Sample support agent', model: 'openai/gpt-4o-mini', tokens: 1_400_000, cost: 0.42, calls: 700 },
]

/** Sample figures that show what the page will look like, marked as mock data. */
function sampleDashboard(period: CostQuery['period'], labels: string[], message: string): CostDashboard {
  const totalCost = AGENTS.reduce((total, agent) => total + agent.cost, 0)
  const totalTokens = AGENTS.reduce((total, agent) => total + agent.tokens, 0)
  const totalCalls = AGENTS.reduce((total, agent) => total + agent.calls, 0)
  return {
    period,
    summary: {
      ...{ totalCost, totalTokens, totalCalls, avgCostPerCall: totalCost / totalCalls },
      ...{ estimatedCost: 0, estimatedTokens: 0 },
    },
    agents: AGENTS.map((agent) => ({ ...agent, avgCostPerCall: agent.cost / agent.calls, estimatedTokens: 0 })),
    daily: labels.map((date) => ({
      date,
      cost: totalCost / labels.length,
      tokens: Math.round(totalTokens / labels.length),
    })),
    modelBreakdown: AGENTS.map(({ model, cost }) => ({
      model,
      cost,
      percent: Math.round((cost / totalCost) * 1000) / 10,
    })),
    isMockData: true,
    message,
  }
}
