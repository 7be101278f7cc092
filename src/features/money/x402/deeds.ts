import { and, count, desc, eq, gt, sql } from 'drizzle-orm'
import { addDays, type Clock } from '../../../core/clock.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db } from '../../../db/open.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { watchdogEvents, watchdogHours } from '../../agents/watchdog/tables.ts'
import { usageLogs } from '../../models/usage/tables.ts'
import type { Deeds } from './rate.ts'

/** Questions that an agent was asked, and those of them that failed; a higher wing keeps them. */
export type CountQuestions = (agentId: string) => { processed: number; failed: number }

export type DeedsDeps = { db: Db; clock: Clock; countQuestions: CountQuestions }

const DAYS = 30
const HOUR_MS = 3_600_000
/** The latest calls of its owner are looked through: no index leads to those of one agent. */
const RECENT_CALLS = 5000

/** What an agent did in the last 30 days, as the platform itself has recorded it. */
export function readDeeds({ db, clock, countQuestions }: DeedsDeps, agent: AgentRow): Deeds {
  const since = addDays(clock.now(), -DAYS)
  const { processed, failed } = countQuestions(agent.id)
  return {
    completions: readCompletions(db, agent, since),
    uptime: readUptime(db, agent.id, since),
    messages: { asked: processed, answered: processed - failed },
  }
}

function readCompletions(db: Db, agent: AgentRow, since: Date): Deeds['completions'] {
  const latest = db
    .select({ agentId: usageLogs.agentId, success: usageLogs.success })
    .from(usageLogs)
    .where(and(eq(usageLogs.userId, agent.ownerId ?? ''), gt(usageLogs.createdAt, since)))
    .orderBy(desc(usageLogs.createdAt))
    .limit(RECENT_CALLS)
    .as('latest')
  const sums = { asked: count(), succeeded: sql<number>`coalesce(sum(${latest.success}), 0)` }
  return db.select(sums).from(latest).where(eq(latest.agentId, agent.id)).get() ?? { asked: 0, succeeded: 0 }
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
