import { and, asc, desc, eq, gte, type SQL, sql } from 'drizzle-orm'
import type { AnySQLiteColumn } from 'drizzle-orm/sqlite-core'
import { addDays, toDay } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { type CostSum, NO_COST, toShownCost } from '../../ai/usage/costs.ts'
import { usageDays, usageLogs } from '../../ai/usage/tables.ts'
import type { Base } from '../../base.ts'
import { messageDays, messages } from '../../conversations/chat/tables.ts'
import { round, toPercent } from './format.ts'
import { listUsageDays } from './queries.ts'
import { hourOf } from './sample.ts'
import type { AgentHistory, AgentHistoryQuery } from './schemas.ts'
import { agentMetricHours, agentMetrics } from './tables.ts'

type Range = AgentHistoryQuery['range']
type Load = AgentHistory['load'][number]
type Use = { messages: number; failed: number; calls: number; tokens: number } & CostSum

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** Resolution of each range: load as it is sampled, usage as its sums are kept. */
const PARTS: Readonly<Record<Range, { ms: number; loadMs: number; useMs: number }>> = {
  '1h': { ms: HOUR_MS, loadMs: MINUTE_MS, useMs: 5 * MINUTE_MS },
  '24h': { ms: DAY_MS, loadMs: HOUR_MS, useMs: HOUR_MS },
  '7d': { ms: 7 * DAY_MS, loadMs: HOUR_MS, useMs: DAY_MS },
  '30d': { ms: 30 * DAY_MS, loadMs: HOUR_MS, useMs: DAY_MS },
}
/** Limits the messages that are read for the last day. */
const MAX_LINES = 20_000
const NOTHING: Use = { messages: 0, failed: 0, calls: 0, tokens: 0, ...NO_COST }

/** Returns load and usage of an agent per interval of `range`; null where nothing was measured. */
export function getAgentHistory(deps: Base, agent: AgentRow, range: Range): AgentHistory {
  const { ms, loadMs, useMs } = PARTS[range]
  const now = deps.clock.now()
  const use = useMs === DAY_MS ? readDays(deps.db, agent, now, ms / DAY_MS) : readRows(deps.db, agent, now, ms, useMs)
  const totals = { ...NOTHING }
  for (const { sums } of use) addUp(totals, sums)
  return {
    range,
    loadSeconds: loadMs / 1000,
    useSeconds: useMs / 1000,
    load: loadMs === MINUTE_MS ? readSamples(deps.db, agent.id, now) : readHours(deps.db, agent.id, now, ms),
    use: use.map(({ at, sums }) => ({ at: at.toISOString(), ...toShownCost(sums) })),
    totals: toShownCost(totals),
  }
}

function addUp(to: Use, added: Partial<Use>): void {
  to.messages += added.messages ?? 0
  to.failed += added.failed ?? 0
  to.calls += added.calls ?? 0
  to.tokens += added.tokens ?? 0
  to.costMicroUsd += added.costMicroUsd ?? 0
  to.unpricedCalls += added.unpricedCalls ?? 0
}

/** Minutes of the last hour. */
function readSamples(db: Db, agentId: string, now: Date): Load[] {
  const first = Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS - HOUR_MS + MINUTE_MS
  const rows = db
    .select()
    .from(agentMetrics)
    .where(and(eq(agentMetrics.agentId, agentId), gte(agentMetrics.sampledAt, new Date(first))))
    .orderBy(asc(agentMetrics.sampledAt))
    .all()
  const byPart = new Map(rows.map((row) => [Math.floor((row.sampledAt.getTime() - first) / MINUTE_MS), row]))
  return listParts(first, MINUTE_MS, 60).map((at, part) => {
    const row = byPart.get(part)
    const memory = row ? round(toPercent(row.memoryBytes, row.memoryLimitBytes)) : null
    return { at: at.toISOString(), cpu: row ? round(row.cpuPercent) : null, memory }
  })
}

/** Averages per hour (UTC). */
function readHours(db: Db, agentId: string, now: Date, ms: number): Load[] {
  const first = hourOf(now).getTime() - ms + HOUR_MS
  const rows = db
    .select()
    .from(agentMetricHours)
    .where(and(eq(agentMetricHours.agentId, agentId), gte(agentMetricHours.hour, new Date(first))))
    .all()
  const byHour = new Map(rows.map((row) => [row.hour.getTime(), row]))
  return listParts(first, HOUR_MS, ms / HOUR_MS).map((at) => toHourLoad(at, byHour.get(at.getTime())))
}

function toHourLoad(hour: Date, row: typeof agentMetricHours.$inferSelect | undefined): Load {
  const at = hour.toISOString()
  if (!row || row.measured === 0) return { at, cpu: null, memory: null }
  const { measured, cpuPercentSum, memoryPercentSum } = row
  return { at, cpu: round(cpuPercentSum / measured), memory: round(memoryPercentSum / measured) }
}

/** Usage per part of an hour or day, from single rows. */
function readRows(db: Db, agent: AgentRow, now: Date, ms: number, partMs: number) {
  const first = Math.floor(now.getTime() / partMs) * partMs - ms + partMs
  const sums = listParts(first, partMs, ms / partMs).map((at) => ({ at, sums: { ...NOTHING } }))
  for (const { part, ...used } of [...readLines(db, agent.id, first, partMs), ...readCalls(db, agent, first, partMs)]) {
    const known = sums[part]
    if (known) addUp(known.sums, used)
  }
  return sums
}

function latestLines(db: Db, agentId: string) {
  return db
    .select({ sender: messages.sender, status: messages.status, createdAt: messages.createdAt })
    .from(messages)
    .where(eq(messages.agentId, agentId))
    .orderBy(desc(messages.sequence))
    .limit(MAX_LINES)
    .as('latest')
}

function readLines(db: Db, agentId: string, first: number, partMs: number) {
  const latest = latestLines(db, agentId)
  const part = partOf(latest.createdAt, first, partMs)
  return db
    .select({
      part: part.as('part'),
      messages: sql<number>`count(*)`,
      failed: sql<number>`sum(${latest.status} = 'failed')`,
    })
    .from(latest)
    .where(and(eq(latest.sender, 'user'), gte(latest.createdAt, new Date(first))))
    .groupBy(part)
    .all()
}

function readCalls(db: Db, agent: AgentRow, first: number, partMs: number) {
  const part = partOf(usageLogs.createdAt, first, partMs)
  return db
    .select({
      part: part.as('part'),
      calls: sql<number>`count(*)`,
      tokens: sql<number>`sum(${usageLogs.inputTokens} + ${usageLogs.outputTokens})`,
      costMicroUsd: sql<number>`sum(${usageLogs.costMicroUsd})`,
      unpricedCalls: sql<number>`sum(${usageLogs.isUnpriced})`,
    })
    .from(usageLogs)
    .where(
      and(ownedBy(usageLogs.userId, agent), eq(usageLogs.agentId, agent.id), gte(usageLogs.createdAt, new Date(first))),
    )
    .groupBy(part)
    .all()
}

/** Returns the index of the interval that contains a time. SQLite binds numbers as floats, hence the cast. */
function partOf(column: AnySQLiteColumn, first: number, partMs: number): SQL<number> {
  return sql<number>`cast((${column} - ${first}) / ${partMs} AS integer)`
}

/** Usage per day (UTC), from daily sums. */
function readDays(db: Db, agent: AgentRow, now: Date, count: number) {
  const days = Array.from({ length: count }, (_, index) => toDay(addDays(now, index + 1 - count)))
  const since = days[0] ?? toDay(now)
  const sums = new Map(days.map((day) => [day, { ...NOTHING }]))
  const add = ({ day, ...used }: Partial<Use> & { day: string }) => {
    const known = sums.get(day)
    if (known) addUp(known, used)
  }
  const asked = { day: messageDays.day, messages: messageDays.asked, failed: messageDays.failed }
  const isOfAgent = and(eq(messageDays.agentId, agent.id), gte(messageDays.day, since))
  for (const row of db.select(asked).from(messageDays).where(isOfAgent).all()) add(row)
  const isUsage = and(ownedBy(usageDays.userId, agent), eq(usageDays.agentId, agent.id))
  for (const row of listUsageDays(db, isUsage, since)) add(row)
  return [...sums].map(([day, used]) => ({ at: new Date(`${day}T00:00:00Z`), sums: used }))
}

/** Usage is recorded under the agent's owner, and the index starts with the owner. */
function ownedBy(column: typeof usageLogs.userId | typeof usageDays.userId, { ownerId }: AgentRow): SQL | undefined {
  return ownerId === null ? undefined : eq(column, ownerId)
}

function listParts(first: number, partMs: number, count: number): Date[] {
  return Array.from({ length: count }, (_, index) => new Date(first + index * partMs))
}
