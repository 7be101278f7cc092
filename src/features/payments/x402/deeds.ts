import { and, count, desc, eq, gt, sql } from 'drizzle-orm'
import { addDays, type Clock } from '../../../core/clock.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db } from '../../../db/open.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { watchdogEvents, watchdogHours } from '../../agents/watchdog/tables.ts'
import { usageLogs } from '../../ai/usage/tables.ts'
import type { Deeds } from './rate.ts'

/** Questions that an agent was asked, and those of them that failed; a higher wing keeps them. */
export type CountQuestions = (agentId: string) => { processed: number; failed: number }

export type DeedsDeps = { db: Db; clock: Clock; countQuestions: CountQuestions }

const DAYS = 30
const HOUR_MS = 3_600_000
/** The latest calls of its owner are looked through: no index leads to those of one agent. */
const RECENT_CALLS = 5000

/** What an agent did in the last 30 days, as the platform itself has recorded it. */
export function readDeeds(deps: DeedsDeps, agent: AgentRow): Deeds {
  const deeds = readAllDeeds(deps, agent.ownerId, [agent.id]).get(agent.id)
  if (!deeds) throw new Error(`Nothing was read of the agent ${agent.id}`)
  return deeds
}

/** As `readDeeds`, of several agents of one owner: their calls are read once. */
export function readAllDeeds(
  { db, clock, countQuestions }: DeedsDeps,
  ownerId: string | null,
  agentIds: readonly string[],
): Map<string, Deeds> {
  const since = addDays(clock.now(), -DAYS)
  const completions = readCompletions(db, ownerId, since)
  return new Map(
    agentIds.map((agentId) => {
      const { processed, failed } = countQuestions(agentId)
      const deeds = {
        completions: completions.get(agentId) ?? { asked: 0, succeeded: 0 },
        uptime: readUptime(db, agentId, since),
        messages: { asked: processed, answered: processed - failed },
      }
      return [agentId, deeds]
    }),
  )
}

function readCompletions(db: Db, ownerId: string | null, since: Date): Map<string, Deeds['completions']> {
  const latest = db
    .select({ agentId: usageLogs.agentId, success: usageLogs.success })
    .from(usageLogs)
    .where(and(eq(usageLogs.userId, ownerId ?? ''), gt(usageLogs.createdAt, since)))
    .orderBy(desc(usageLogs.createdAt))
    .limit(RECENT_CALLS)
    .as('latest')
  const sums = { agentId: latest.agentId, asked: count(), succeeded: sql<number>`coalesce(sum(${latest.success}), 0)` }
  const rows = db.select(sums).from(latest).groupBy(latest.agentId).all()
  return new Map(rows.map(({ agentId, ...completions }) => [agentId, completions]))
}

function readUptime(db: Db, agentId: string, since: Date): Deeds['uptime'] {
  const isRecent = gt(watchdogHours.hour, Math.floor(since.getTime() / HOUR_MS))
  const hours = db
    .select({
      upMs: sql<number>`coalesce(sum(${watchdogHours.upMs}), 0)`,
      downMs: sql<number>`coalesce(sum(${watchdogHours.downMs}), 0)`,
      looks: count(),
    })
    .from(watchdogHours)
    .where(and(eq(watchdogHours.agentId, agentId), isRecent))
    .get() ?? { upMs: 0, downMs: 0, looks: 0 }
  const isRepair = and(
    eq(watchdogEvents.agentId, agentId),
    eq(watchdogEvents.kind, 'repair_started'),
    gt(watchdogEvents.at, since),
  )
  const repairs = countRows(db, watchdogEvents, isRepair)
  return { upMs: hours.upMs, knownMs: hours.upMs + hours.downMs, looks: hours.looks, repairs }
}
