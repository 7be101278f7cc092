import { and, count, desc, eq, gte, inArray, max, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { users } from '../../accounts/users/tables.ts'
import type { AgentStatus } from '../../agents/registry/schemas.ts'
import { shownStatus } from '../../agents/registry/status.ts'
import { agents } from '../../agents/registry/tables.ts'
import { usageDays, usageLogs } from '../../ai/usage/tables.ts'
import type { Base } from '../../base.ts'
import { messageDays } from '../../conversations/chat/tables.ts'
import { agentMetrics } from './tables.ts'

/** Number of messages on the joined day, in both directions. */
export const messagesOfDay = sql<number>`coalesce(${messageDays.asked} + ${messageDays.answered}, 0)`

/** Selects a user's agents with their status and their activity on one day (UTC). Every join is by key. */
export function selectActivity(db: Db, ownerId: string, day: string, where?: SQL) {
  const costs = db
    .select({
      agentId: usageDays.agentId,
      microUsd: sql<number>`sum(${usageDays.costMicroUsd})`.as('micro_usd'),
      unpriced: sql<number>`sum(${usageDays.unpricedCalls})`.as('unpriced'),
    })
    .from(usageDays)
    .where(and(eq(usageDays.userId, ownerId), eq(usageDays.day, day)))
    .groupBy(usageDays.agentId)
    .as('costs')
  return db
    .select({
      id: agents.id,
      name: agents.name,
      status: shownStatus,
      messages: messagesOfDay,
      costMicroUsd: sql<number>`coalesce(${costs.microUsd}, 0)`,
      unpricedCalls: sql<number>`coalesce(${costs.unpriced}, 0)`,
    })
    .from(agents)
    .leftJoin(messageDays, and(eq(messageDays.agentId, agents.id), eq(messageDays.day, day)))
    .leftJoin(costs, eq(costs.agentId, agents.id))
    .where(and(eq(agents.ownerId, ownerId), where))
}

type StatusCounts = Partial<Record<AgentStatus, number>>

/** Returns a user's number of agents per status, without statuses that no agent has. */
export function countByStatus(db: Db, ownerId: string, where?: SQL): StatusCounts {
  const rows = db
    .select({ status: shownStatus, agents: count() })
    .from(agents)
    .where(and(eq(agents.ownerId, ownerId), where))
    .groupBy(shownStatus)
    .all()
  return Object.fromEntries(rows.map((row) => [row.status, row.agents]))
}

/**
 * Matches a part of an agent's name or id; with `withOwner`, also of its owner's e-mail address, which takes a join with
 * `users`. `instr` has no wildcards that user input would need to escape.
 */
export function matchesAgent(search: string, { withOwner }: { withOwner: boolean }): SQL | undefined {
  if (search === '') return undefined
  const isNamed = sql`instr(lower(${agents.name}), ${search.toLowerCase()}) > 0 OR instr(${agents.id}, ${search}) > 0`
  return withOwner ? sql`(${isNamed} OR instr(${users.email}, ${search}) > 0)` : sql`(${isNamed})`
}

/** Returns the names by id of those agents that exist and match `where`. */
export function findAgentNames(db: Db, ids: readonly string[], where?: SQL): Map<string, string> {
  const isOne = and(inArray(agents.id, [...new Set(ids)]), where)
  const rows = db.select({ id: agents.id, name: agents.name }).from(agents).where(isOne).all()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Returns the sums of model usage of each day since `since` (UTC) that has any. */
export function listUsageDays(db: Db, where: SQL | undefined, since: string) {
  return db
    .select({
      day: usageDays.day,
      calls: sql<number>`sum(${usageDays.calls})`,
      tokens: sql<number>`sum(${usageDays.inputTokens} + ${usageDays.outputTokens})`,
      costMicroUsd: sql<number>`sum(${usageDays.costMicroUsd})`,
      unpricedCalls: sql<number>`sum(${usageDays.unpricedCalls})`,
    })
    .from(usageDays)
    .where(and(where, gte(usageDays.day, since)))
    .groupBy(usageDays.day)
    .all()
}

export type ModelCallRow = typeof usageLogs.$inferSelect

/** Returns the newest model calls, of one user or of all. Each sort order follows the index that serves it. */
export function listNewestCalls(db: Db, where: SQL | undefined, limit: number): ModelCallRow[] {
  const order = where ? [desc(usageLogs.createdAt), desc(usageLogs.id)] : [desc(usageLogs.id)]
  return db
    .select()
    .from(usageLogs)
    .where(where)
    .orderBy(...order)
    .limit(limit)
    .all()
}

/** Returns the messages that agents have received since their creation, and how many of them failed. */
export function countQuestions(
  db: Db,
  agentIds: readonly string[],
): Map<string, { processed: number; failed: number }> {
  const { agentId, asked, failed } = messageDays
  const rows = db
    .select({ agentId, processed: sql<number>`sum(${asked})`, failed: sql<number>`sum(${failed})` })
    .from(messageDays)
    .where(inArray(agentId, [...agentIds]))
    .groupBy(agentId)
    .all()
  return new Map(rows.map(({ agentId: id, ...counts }) => [id, counts]))
}

/** Returns the number of all agents or jobs per state from the counters that triggers maintain. */
export function readStateCounts(db: Db, subject: 'agents' | 'jobs'): Record<string, number> {
  const rows = db
    .select({ state: sql<string>`state`, rows: sql<number>`rows` })
    .from(sql`state_counts`)
    .where(sql`subject = ${subject}`)
    .all()
  return Object.fromEntries(rows.map(({ state, rows: number }) => [state, number]))
}

/** Percentages from 0 to 100: of one core, and of the agent's memory limit. */
type AgentLoad = { cpuPercent: number; memoryPercent: number }

/** Older samples do not count as current. */
export const FRESH_MS = 5 * 60_000

/** Returns the latest load of each agent that was measured within five minutes. */
export function findLatestLoads(deps: Base, agentIds: string[]): Map<string, AgentLoad> {
  const since = new Date(deps.clock.now().getTime() - FRESH_MS)
  const samples = readNewestSamples(deps.db, agentIds, since)
  return new Map(samples.map((sample) => [sample.agentId, toLoad(sample)]))
}

type LoadSample = typeof agentMetrics.$inferSelect

function readNewestSamples(db: Db, agentIds: string[], since: Date): LoadSample[] {
  const newest = db
    .select({ agentId: agentMetrics.agentId, at: max(agentMetrics.sampledAt).as('at') })
    .from(agentMetrics)
    .where(and(inArray(agentMetrics.agentId, agentIds), gte(agentMetrics.sampledAt, since)))
    .groupBy(agentMetrics.agentId)
    .as('newest')
  const rows = db
    .select({ sample: agentMetrics })
    .from(agentMetrics)
    .innerJoin(newest, and(eq(newest.agentId, agentMetrics.agentId), eq(newest.at, agentMetrics.sampledAt)))
    .all()
  return rows.map(({ sample }) => sample)
}

function toLoad({ cpuPercent, memoryBytes, memoryLimitBytes }: LoadSample): AgentLoad {
  return {
    cpuPercent: Math.min(100, Math.round(cpuPercent)),
    memoryPercent: Math.min(100, Math.round((memoryBytes / memoryLimitBytes) * 100)),
  }
}
