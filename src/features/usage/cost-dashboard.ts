import { and, eq, gte } from 'drizzle-orm'
import { addDays, type Clock, toDay } from '../../core/clock.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { toUsd } from '../../core/money.ts'
import type { Db } from '../../db/open.ts'
import { agents } from '../agents/tables.ts'
import { sampleDashboard } from './sample.ts'
import type { CostDashboard, CostQuery } from './schemas.ts'
import { usageDays } from './tables.ts'

type Period = CostQuery['period']
type Sums = { tokens: number; costMicroUsd: number; calls: number }
type Row = Sums & { day: string; agentId: string; name: string; model: string }

/**
 * What a user's agents cost in a period, read from daily sums. Sample data stands in as ruling 30 says, and says so.
 * @throws AppError `internal` when the figures were read and cannot be put together.
 */
export function getCostDashboard(
  deps: { db: Db; clock: Clock; log: Log },
  userId: string,
  period: Period,
): CostDashboard {
  const days = listDays(period, deps.clock.now())
  const rows = tryReadRows(deps, userId, days[0] ?? '')
  if (rows === null)
    return sampleDashboard(period, days.map(toDayLabel), 'Usage could not be read. These are sample figures.')
  try {
    if (rows.length === 0 && !hasAnyUsage(deps.db, userId)) {
      return sampleDashboard(period, days.map(toDayLabel), 'No usage yet. These are sample figures.')
    }
    return toDashboard(period, days, rows)
  } catch (error) {
    deps.log.error(`[Cost API] Error: ${errorMessage(error)}`)
    throw new AppError('internal', 'Failed to fetch cost data', {}, { cause: error })
  }
}

/** Null when the query failed: Spec 4.10 wants sample data then, and this line in the log, word for word. */
function tryReadRows(deps: { db: Db; log: Log }, userId: string, firstDay: string): Row[] | null {
  try {
    const rows = readRows(deps.db, userId, firstDay)
    deps.log.info(`[Cost API] Found ${rows.length} usage logs`)
    return rows
  } catch (error) {
    deps.log.error(`[Cost API] Prisma error: ${errorMessage(error)}`)
    return null
  }
}

/** Days of the period in order, today last (UTC). */
function listDays(period: Period, today: Date): string[] {
  const count = { '7d': 7, '30d': 30, mtd: today.getUTCDate() }[period]
  return Array.from({ length: count }, (_, index) => toDay(addDays(today, index + 1 - count)))
}

function readRows(db: Db, userId: string, firstDay: string): Row[] {
  const rows = db
    .select({ usage: usageDays, name: agents.name })
    .from(usageDays)
    .leftJoin(agents, eq(agents.id, usageDays.agentId))
    .where(and(eq(usageDays.userId, userId), gte(usageDays.day, firstDay)))
    .all()
  return rows.map(({ usage, name }) => ({
    day: usage.day,
    agentId: usage.agentId,
    name: name ?? usage.agentId,
    model: usage.model,
    tokens: usage.inputTokens + usage.outputTokens,
    costMicroUsd: usage.costMicroUsd,
    calls: usage.calls,
  }))
}

function hasAnyUsage(db: Db, userId: string): boolean {
  return (
    db.select({ day: usageDays.day }).from(usageDays).where(eq(usageDays.userId, userId)).limit(1).get() !== undefined
  )
}

function toDashboard(period: Period, days: string[], rows: Row[]): CostDashboard {
  const total = sum(rows)
  return {
    period,
    summary: {
      totalCost: toUsd(total.costMicroUsd),
      totalTokens: total.tokens,
      totalCalls: total.calls,
      avgCostPerCall: average(total),
    },
    agents: [...Map.groupBy(rows, (row) => row.agentId).values()]
      .map(toAgentLine)
      .sort((one, other) => other.cost - one.cost || other.tokens - one.tokens),
    daily: days.map((day) => {
      const { costMicroUsd, tokens } = sum(rows.filter((row) => row.day === day))
      return { date: toDayLabel(day), cost: toUsd(costMicroUsd), tokens }
    }),
    modelBreakdown: [...Map.groupBy(rows, (row) => row.model)]
      .map(([model, group]) => ({ model, ...share(sum(group), total) }))
      .sort((one, other) => other.cost - one.cost || other.percent - one.percent),
    isMockData: false,
  }
}

function toAgentLine(rows: Row[]): CostDashboard['agents'][number] {
  const total = sum(rows)
  const byModel = [...Map.groupBy(rows, (row) => row.model)].map(([model, group]) => ({
    model,
    tokens: sum(group).tokens,
  }))
  const mostUsed = byModel.sort((one, other) => other.tokens - one.tokens)[0]
  return {
    name: rows[0]?.name ?? '',
    tokens: total.tokens,
    cost: toUsd(total.costMicroUsd),
    calls: total.calls,
    avgCostPerCall: average(total),
    model: mostUsed?.model ?? '',
  }
}

function sum(rows: Sums[]): Sums {
  const total = { tokens: 0, costMicroUsd: 0, calls: 0 }
  for (const row of rows) {
    total.tokens += row.tokens
    total.costMicroUsd += row.costMicroUsd
    total.calls += row.calls
  }
  return total
}

function average({ costMicroUsd, calls }: Sums): number {
  return calls > 0 ? toUsd(Math.round(costMicroUsd / calls)) : 0
}

/** A model's share of the cost; of the tokens when nothing cost anything. */
function share(part: Sums, whole: Sums): { percent: number; cost: number } {
  const ratio = whole.costMicroUsd > 0 ? part.costMicroUsd / whole.costMicroUsd : part.tokens / (whole.tokens || 1)
  return { percent: Math.round(ratio * 1000) / 10, cost: toUsd(part.costMicroUsd) }
}

/** `Mar 17` (Spec 4.10). */
function toDayLabel(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' })
}
