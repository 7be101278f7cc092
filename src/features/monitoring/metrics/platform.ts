import { statfs } from 'node:fs/promises'
import { and, asc, avg, count, desc, eq, gte, inArray, sql } from 'drizzle-orm'
import type { AnySQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { addDays, toDay } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { deploymentHistory } from '../../agents/operations/tables.ts'
import { agents } from '../../agents/registry/tables.ts'
import { usageLogs } from '../../ai/usage/tables.ts'
import type { Base } from '../../base.ts'
import { messageDays } from '../../conversations/chat/tables.ts'
import { round, toPercent } from './format.ts'
import { countByStatus, FRESH_MS } from './queries.ts'
import { hourOf } from './sample.ts'
import type { HistoricalMetrics, HistoricalQuery, MetricPoint, PerformanceMetrics, PlatformMetrics } from './schemas.ts'
import { agentMetricHours, agentMetrics, platformHours } from './tables.ts'

type Figures = PlatformMetrics['metrics']

const DAYS = 30
const MEGABYTE = 1024 * 1024

/** Returns the metrics of the user's agents from stored rows. Values that were never measured are null. */
export async function getPlatformMetrics(
  deps: Base & { measureDisk: MeasureDisk },
  user: SignedInUser,
): Promise<PlatformMetrics> {
  const now = deps.clock.now()
  return {
    metrics: {
      agents: countAgents(deps.db, user.id),
      messages: countMessages(deps.db, user.id, now),
      deployments: countDeployments(deps.db, user.id),
      uptime: readUptime(deps.db, user.id, addDays(now, -DAYS)),
      performance: toPerformance(getPerformance(deps, user.id)),
      storage: await readStorage(deps.measureDisk),
    },
    timestamp: now.toISOString(),
    status: 'ok',
    plan: user.plan === 'free' ? null : user.plan,
  }
}

function toPerformance({ responseTime, errorRate, cpu, memory }: PerformanceMetrics): Figures['performance'] {
  const successRate = errorRate === null ? null : round(100 - errorRate)
  return { averageResponseTime: responseTime, successRate, errorRate, cpu, memory }
}

function readUptime(db: Db, userId: string, since: Date): Figures['uptime'] {
  return {
    platformUptime: readPlatformUptime(db, since),
    averageAgentUptime: readAgentUptime(db, userId, since),
  }
}

function countAgents(db: Db, ownerId: string): PlatformMetrics['metrics']['agents'] {
  const counts = countByStatus(db, ownerId)
  const total = Object.values(counts).reduce((sum, agentCount) => sum + agentCount, 0)
  // A sleeping agent is in service: it wakes on the next message.
  const active = (counts.running ?? 0) + (counts.sleeping ?? 0)
  const failed = counts.error ?? 0
  return { total, active, inactive: total - active - failed, failed }
}

/** Days, weeks from Monday and months are UTC. Summed from daily counts. */
function countMessages(db: Db, userId: string, now: Date): PlatformMetrics['metrics']['messages'] {
  const [year, month, date] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  const today = toDay(now)
  const week = toDay(new Date(Date.UTC(year, month, date - ((now.getUTCDay() + 6) % 7))))
  const first = toDay(new Date(Date.UTC(year, month, 1)))
  const lines = sql`${messageDays.asked} + ${messageDays.answered}`
  const since = (day: string) => sql<number>`coalesce(sum((${lines}) * (${messageDays.day} >= ${day})), 0)`
  const row = db
    .select({ today: since(today), thisWeek: since(week), thisMonth: since(first) })
    .from(messageDays)
    .innerJoin(agents, eq(agents.id, messageDays.agentId))
    .where(and(eq(agents.ownerId, userId), gte(messageDays.day, earlier(week, first))))
    .get()
  return row ?? { today: 0, thisWeek: 0, thisMonth: 0 }
}

function earlier(one: string, other: string): string {
  if (one < other) return one
  return other
}

/** Counts starts and updates; repairs and resets are not deployments. */
function countDeployments(db: Db, ownerId: string): PlatformMetrics['metrics']['deployments'] {
  const row = db
    .select({
      total: count(),
      successful: sql<number>`coalesce(sum(${deploymentHistory.result} = 'succeeded'), 0)`,
      failed: sql<number>`coalesce(sum(${deploymentHistory.result} IN ('failed', 'refused', 'rolled-back')), 0)`,
    })
    .from(deploymentHistory)
    .innerJoin(agents, eq(agents.id, deploymentHistory.agentId))
    .where(and(eq(agents.ownerId, ownerId), inArray(deploymentHistory.kind, ['deploy', 'start', 'restart', 'update'])))
    .get()
  return row ?? { total: 0, successful: 0, failed: 0 }
}

/** Returns the percentage of the time between the first and last sample in which the platform ran. */
function readPlatformUptime(db: Db, since: Date): number | null {
  const hours = db
    .select()
    .from(platformHours)
    .where(gte(platformHours.hour, since))
    .orderBy(asc(platformHours.hour))
    .all()
  const [first, last] = [hours[0], hours.at(-1)]
  const spanMs = first && last ? last.lastAt.getTime() - first.firstAt.getTime() : 0
  if (!first || spanMs === 0) return null
  const upMs = hours.reduce((sum, hour) => sum + hour.upMs, 0)
  return round(Math.min(100, toPercent(upMs, spanMs)), 2)
}

/** Returns the percentage of samples in which an agent that should run did. */
function readAgentUptime(db: Db, ownerId: string, since: Date): number | null {
  const row = db
    .select({
      samples: sql<number>`coalesce(sum(${agentMetricHours.samples}), 0)`,
      measured: sql<number>`coalesce(sum(${agentMetricHours.measured}), 0)`,
    })
    .from(agentMetricHours)
    .innerJoin(agents, eq(agents.id, agentMetricHours.agentId))
    .where(and(eq(agents.ownerId, ownerId), gte(agentMetricHours.hour, since)))
    .get()
  return row && row.samples > 0 ? round(toPercent(row.measured, row.samples), 2) : null
}

async function readStorage(measureDisk: MeasureDisk): Promise<PlatformMetrics['metrics']['storage']> {
  const { usedBytes, totalBytes } = await measureDisk()
  return {
    used: Math.round(usedBytes / MEGABYTE),
    total: Math.round(totalBytes / MEGABYTE),
    percentUsed: round(toPercent(usedBytes, totalBytes)),
  }
}

/** Limits the calls that are read. */
const MAX_CALLS = 5000

/** Returns current load from the latest samples and the outcome of model calls in the last 24 hours. */
export function getPerformance({ db, clock }: Base, userId: string): PerformanceMetrics {
  const now = clock.now()
  const calls = readCalls(db, userId, addDays(now, -1))
  return {
    ...readUse(db, userId, new Date(now.getTime() - FRESH_MS)),
    errorRate: calls.total > 0 ? round((calls.failed / calls.total) * 100) : null,
    responseTime: calls.latencyMs === null ? null : Math.round(Number(calls.latencyMs)),
  }
}

/** Averages the samples of each agent, then the agents. */
function readUse(db: Db, userId: string, since: Date): Pick<PerformanceMetrics, 'cpu' | 'memory'> {
  const perAgent = db
    .select({
      cpu: avg(agentMetrics.cpuPercent).as('cpu'),
      memory: sql<number>`avg(100.0 * ${agentMetrics.memoryBytes} / ${agentMetrics.memoryLimitBytes})`.as('memory'),
    })
    .from(agentMetrics)
    .innerJoin(agents, eq(agents.id, agentMetrics.agentId))
    .where(and(eq(agents.ownerId, userId), gte(agentMetrics.sampledAt, since)))
    .groupBy(agentMetrics.agentId)
    .as('per_agent')
  const row = db
    .select({ cpu: avg(perAgent.cpu), memory: avg(perAgent.memory) })
    .from(perAgent)
    .get()
  return { cpu: toNumber(row?.cpu), memory: toNumber(row?.memory) }
}

function latestCalls(db: Db, userId: string, since: Date) {
  const { success, latencyMs } = usageLogs
  return db
    .select({ success, latencyMs })
    .from(usageLogs)
    .where(and(eq(usageLogs.userId, userId), gte(usageLogs.createdAt, since)))
    .orderBy(desc(usageLogs.createdAt))
    .limit(MAX_CALLS)
    .as('latest')
}

/** Reads at most 5,000 of the latest calls. The latency counts successful calls only. */
function readCalls(db: Db, userId: string, since: Date) {
  const latest = latestCalls(db, userId, since)
  const row = db
    .select({
      total: count(),
      failed: sql<number>`coalesce(sum(${latest.success} = 0), 0)`,
      latencyMs: sql<number | null>`avg(case when ${latest.success} then ${latest.latencyMs} end)`,
    })
    .from(latest)
    .get()
  return row ?? { total: 0, failed: 0, latencyMs: null }
}

function toNumber(value: string | null | undefined): number | null {
  return value === null || value === undefined ? null : round(Number(value))
}

export type MeasureDisk = () => Promise<{ usedBytes: number; totalBytes: number }>

export function createDiskProbe(dir: string): MeasureDisk {
  return async () => {
    const { blocks, bfree, bsize } = await statfs(dir)
    return { usedBytes: (blocks - bfree) * bsize, totalBytes: blocks * bsize }
  }
}

const HOUR_MS = 3_600_000
const HOURS: Readonly<Record<HistoricalQuery['range'], number>> = { '24h': 24, '7d': 7 * 24, '30d': 30 * 24 }

/** Returns hourly metrics of all agents of a user; before the first sample, the current load. */
export async function getHistory(
  deps: Base & { runtimes: Pick<Runtimes, 'runtimeOf'> },
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
const hourSums = {
  hour: agentMetricHours.hour,
  measured: sumOf(agentMetricHours.measured),
  cpu: sumOf(agentMetricHours.cpuPercentSum),
  memory: sumOf(agentMetricHours.memoryPercentSum),
  messages: sumOf(agentMetricHours.messages),
  errors: sumOf(agentMetricHours.errors),
}

function readHours({ db, clock }: Base, userId: string, range: HistoricalQuery['range']): MetricPoint[] {
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

async function measureNow(
  { db, clock, runtimes }: Base & { runtimes: Pick<Runtimes, 'runtimeOf'> },
  userId: string,
): Promise<MetricPoint[]> {
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

/** Returns the rounded mean of the measured values; null without any. */
function average(values: (number | null)[]): number | null {
  const measured = values.filter((value) => value !== null)
  if (measured.length === 0) return null
  return Math.round(measured.reduce((sum, value) => sum + value, 0) / measured.length)
}
