import { and, avg, count, desc, eq, gte, sql } from 'drizzle-orm'
import { addDays, type Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { agents } from '../../agents/registry/tables.ts'
import { usageLogs } from '../../ai/usage/tables.ts'
import type { PerformanceMetrics } from './schemas.ts'
import { agentMetrics } from './tables.ts'

/** A sample of before then says nothing of now. */
const FRESH_MS = 5 * 60_000
/** Calls that are looked at. */
const MAX_CALLS = 5000

/** What a user's agents use now, by their latest samples, and how their model calls went in the last 24 h. */
export function getPerformance({ db, clock }: { db: Db; clock: Clock }, userId: string): PerformanceMetrics {
  const now = clock.now()
  const calls = readCalls(db, userId, addDays(now, -1))
  return {
    ...readUse(db, userId, new Date(now.getTime() - FRESH_MS)),
    errorRate: calls.total > 0 ? round((calls.failed / calls.total) * 100) : null,
    responseTime: calls.latencyMs === null ? null : Math.round(Number(calls.latencyMs)),
  }
}

/** The average over agents of each one's samples since then. */
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

/** The latest since then, thousands at most: more would tell the same. Latency is that of calls that succeeded. */
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

function round(value: number): number {
  return Math.round(value * 10) / 10
}
