import { and, eq, gte, inArray, max } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { agentMetrics } from './tables.ts'

/** Percentages of 0 to 100: of the machine's one core at most, and of the agent's own memory. */
export type Load = { cpuPercent: number; memoryPercent: number }

/** An older sample says nothing about now. */
const FRESH_MS = 5 * 60_000

/** What each of the agents used when it was last looked at, within five minutes; those nobody measured are missing. */
export function findLatestLoads(deps: { db: Db; clock: Clock }, agentIds: string[]): Map<string, Load> {
  const since = new Date(deps.clock.now().getTime() - FRESH_MS)
  const samples = readNewestSamples(deps.db, agentIds, since)
  return new Map(samples.map((sample) => [sample.agentId, toLoad(sample)]))
}

type Sample = typeof agentMetrics.$inferSelect

function readNewestSamples(db: Db, agentIds: string[], since: Date): Sample[] {
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

function toLoad({ cpuPercent, memoryBytes, memoryLimitBytes }: Sample): Load {
  return {
    cpuPercent: Math.min(100, Math.round(cpuPercent)),
    memoryPercent: Math.min(100, Math.round((memoryBytes / memoryLimitBytes) * 100)),
  }
}
