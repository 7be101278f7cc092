import { and, count, desc, eq, gt, inArray, sql } from 'drizzle-orm'
import { addDays, type Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { watchdogEvents, watchdogHours } from '../../agents/watchdog/tables.ts'
import { usageLogs } from '../../ai/usage/tables.ts'

/** Activity of an agent, from which its fitness is computed. Times are milliseconds. */
type AgentRecord = {
  completions: { asked: number; succeeded: number }
  uptime: { upMs: number; knownMs: number; repairs: number; looks: number }
  messages: { asked: number; answered: number }
}

export type Rating = {
  score: number
  tier: ColonyTier
  details: { prediction: number; execution: number; coordination: number }
  events: { prediction: number; execution: number; coordination: number }
}

const COLONY_TIERS = ['new', 'bronze', 'silver', 'gold'] as const
export type ColonyTier = (typeof COLONY_TIERS)[number]

/** Discount in percent. */
const DISCOUNTS: Readonly<Record<ColonyTier, number>> = { new: 0, bronze: 0, silver: 10, gold: 25 }
/** Lowest scores of the tiers. */
const SILVER = 60
const GOLD = 80
/** Agents with fewer events are `new`. */
const LEAST_EVENTS = 10
/** Each repair lowers the uptime score by this. */
const REPAIR_POINTS = 5

/**
 * Returns the fitness of an agent: the mean of the dimensions with events, 0 without any.
 * Prediction is the percentage of successful completions, execution that of uptime minus repairs, coordination that of
 * answered messages. Dimensions without events are 0.
 */
export function rateAgent({ completions, uptime, messages }: AgentRecord): Rating {
  const known = {
    prediction: percentOf(completions.succeeded, completions.asked),
    execution: executionOf(uptime),
    coordination: percentOf(messages.answered, messages.asked),
  }
  const events = {
    prediction: completions.asked,
    execution: uptime.looks + uptime.repairs,
    coordination: messages.asked,
  }
  const scores = Object.values(known).filter((score) => score !== null)
  const score = scores.length === 0 ? 0 : Math.round(scores.reduce((sum, one) => sum + one, 0) / scores.length)
  const eventCount = Object.values(events).reduce((sum, one) => sum + one, 0)
  const { prediction, execution, coordination } = known
  const details = { prediction: prediction ?? 0, execution: execution ?? 0, coordination: coordination ?? 0 }
  return { score, tier: tierOf(score, eventCount), details, events }
}

/** Returns the price of a call for a tier, in micro-dollars, rounded down. */
export function priceOf(listMicroUsd: number, tier: ColonyTier): { microUsd: number; discount: number } {
  const discount = DISCOUNTS[tier]
  return { microUsd: Math.floor((listMicroUsd * (100 - discount)) / 100), discount }
}

function tierOf(score: number, events: number): ColonyTier {
  if (events < LEAST_EVENTS) return 'new'
  if (score >= GOLD) return 'gold'
  return score >= SILVER ? 'silver' : 'bronze'
}

function executionOf({ upMs, knownMs, repairs }: AgentRecord['uptime']): number | null {
  const percent = percentOf(upMs, knownMs)
  return percent === null ? null : Math.max(0, percent - repairs * REPAIR_POINTS)
}

function percentOf(part: number, whole: number): number | null {
  return whole > 0 ? Math.round((part * 100) / whole) : null
}

/** Counts the messages of agents; the conversations domain stores them. Agents without messages are missing. */
export type CountQuestions = (agentIds: readonly string[]) => Map<string, { processed: number; failed: number }>

const DAYS = 30
const HOUR_MS = 3_600_000
/** The owner's latest calls are scanned, because no index leads to those of one agent. */
const RECENT_CALLS = 5000

/** Returns the recorded activity of an agent in the last 30 days. */
export function readAgentRecord(
  deps: { db: Db; clock: Clock; countQuestions: CountQuestions },
  agent: AgentRow,
): AgentRecord {
  const records = readAgentRecords(deps, agent.ownerId, [agent.id]).get(agent.id)
  if (!records) throw new Error(`Nothing was read of the agent ${agent.id}`)
  return records
}

/** Like `readAgentRecord` for several agents of one owner, whose calls are read once. */
export function readAgentRecords(
  { db, clock, countQuestions }: { db: Db; clock: Clock; countQuestions: CountQuestions },
  ownerId: string | null,
  agentIds: readonly string[],
): Map<string, AgentRecord> {
  const since = addDays(clock.now(), -DAYS)
  const completions = readCompletions(db, ownerId, since)
  const uptimes = readUptimes(db, agentIds, since)
  const questions = countQuestions(agentIds)
  return new Map(
    agentIds.map((agentId) => {
      const { processed, failed } = questions.get(agentId) ?? { processed: 0, failed: 0 }
      const record = {
        completions: completions.get(agentId) ?? { asked: 0, succeeded: 0 },
        uptime: uptimes(agentId),
        messages: { asked: processed, answered: processed - failed },
      }
      return [agentId, record]
    }),
  )
}

function readCompletions(db: Db, ownerId: string | null, since: Date): Map<string, AgentRecord['completions']> {
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

function readUptimes(db: Db, agentIds: readonly string[], since: Date): (agentId: string) => AgentRecord['uptime'] {
  const { agentId, hour, upMs, downMs } = watchdogHours
  const hours = db
    .select({
      agentId,
      upMs: sql<number>`sum(${upMs})`,
      knownMs: sql<number>`sum(${upMs} + ${downMs})`,
      looks: count(),
    })
    .from(watchdogHours)
    .where(and(inArray(agentId, [...agentIds]), gt(hour, Math.floor(since.getTime() / HOUR_MS))))
    .groupBy(agentId)
    .all()
  const repairs = db
    .select({ agentId: watchdogEvents.agentId, repairs: count() })
    .from(watchdogEvents)
    .where(
      and(
        inArray(watchdogEvents.agentId, [...agentIds]),
        eq(watchdogEvents.kind, 'repair_started'),
        gt(watchdogEvents.at, since),
      ),
    )
    .groupBy(watchdogEvents.agentId)
    .all()
  const hoursOf = new Map(hours.map((row) => [row.agentId, row]))
  const repairsOf = new Map(repairs.map((row) => [row.agentId, row.repairs]))
  return (id) => {
    const { upMs, knownMs, looks } = hoursOf.get(id) ?? { upMs: 0, knownMs: 0, looks: 0 }
    return { upMs, knownMs, looks, repairs: repairsOf.get(id) ?? 0 }
  }
}
