import { and, asc, eq, gte, sql } from 'drizzle-orm'
import type { AnySQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { agents } from '../../agents/registry/tables.ts'
import { round, toPercent } from './format.ts'
import { hourOf } from './sample.ts'
import type { HistoricalMetrics, HistoricalQuery, MetricPoint } from './schemas.ts'
import { agentMetricHours } from './tables.ts'

export type HistoryDeps = { db: Db; clock: Clock; runtimes: Pick<Runtimes, 'runtimeOf'> }

const HOUR_MS = 3_600_000
const HOURS: Readonly<Record<HistoricalQuery['range'], number>> = { '24h': 24, '7d': 7 * 24, '30d': 30 * 24 }

/** The hours of `range` up to now, over all agents of a user; before the first sample what they use at this moment. */
export async function getHistory(
  deps: HistoryDeps,
  userId: string,
  range: HistoricalQuery['range'],
): Promise<HistoricalMetrics> {
  const stored = readHours(deps, userId, range)
  const metrics = stored.length > 0 ? stored : await measureNow(deps, userId)
  const averages = {
    cpu: average(metrics.map(({ cpu }) => cpu)),
    memory: average(metrics.map(({ memory }) => memory)),
    messages: average(metrics.map(({ messages }) => messages)),
    errors: average(metrics.map(({ errors }) => errors)),
  }
  return { userId, timeRange: range, metrics, averages }
}

const sumOf = (column: AnySQLiteColumn) => sql<number>`sum(${column})`
/** What the agents of a user add up to in an hour. */
const hourSums = {
  hour: agentMetricHours.hour,
  measured: sumOf(agentMetricHours.measured),
  cpu: sumOf(agentMetricHours.cpuPercentSum),
  memory: sumOf(agentMetricHours.memoryPercentSum),
  messages: sumOf(agentMetricHours.messages),
  errors: sumOf(agentMetricHours.errors),
}

function readHours({ db, clock }: HistoryDeps, userId: string, range: HistoricalQuery['range']): MetricPoint[] {
  const first = new Date(hourOf(clock.now()).getTime() - (HOURS[range] - 1) * HOUR_MS)
  const rows = db
    .select(hourSums)
    .from(agentMetricHours)
    .innerJoin(agents, eq(agents.id, agentMetricHours.agentId))
    .where(and(eq(agents.ownerId, userId), gte(agentMetricHours.hour, first)))
    .groupBy(agentMetricHours.hour)
    .orderBy(asc(agentMetricHours.hour))
    .all()
  return rows.map(({ hour, ...sums }) => toPoint(hour, sums))
}

type Sums = { measured: number; cpu: number; memory: number; messages: number; errors: number }

function toPoint(hour: Date, { measured, cpu, memory, messages, errors }: Sums): MetricPoint {
  return {
    timestamp: hour.toISOString(),
    cpu: measured > 0 ? round(cpu / measured) : null,
    memory: measured > 0 ? round(memory / measured) : null,
    messages,
    errors,
  }
}

async function measureNow({ db, clock, runtimes }: HistoryDeps, userId: string): Promise<MetricPoint[]> {
  const running = db
    .select({ id: agents.id, runtime: agents.runtime })
    .from(agents)
    .where(and(eq(agents.ownerId, userId), eq(agents.status, 'running')))
    .all()
  const results = await Promise.allSettled(running.map((agent) => runtimes.runtimeOf(agent).stats(agent.id)))
  const stats = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  if (stats.length === 0) return []
  const cpu = stats.reduce((sum, { cpuPercent }) => sum + cpuPercent, 0) / stats.length
  const memory =
    stats.reduce((sum, { memoryBytes, memoryLimitBytes }) => sum + toPercent(memoryBytes, memoryLimitBytes), 0) /
    stats.length
  return [{ timestamp: clock.now().toISOString(), cpu: round(cpu), memory: round(memory), messages: 0, errors: 0 }]
}

/** A whole number, over what was measured; null when nothing was. */
function average(values: (number | null)[]): number | null {
  const measured = values.filter((value) => value !== null)
  if (measured.length === 0) return null
  return Math.round(measured.reduce((sum, value) => sum + value, 0) / measured.length)
}
