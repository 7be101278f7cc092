import { and, count, desc, eq, gte } from 'drizzle-orm'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { containerHealth, type HealthDeps } from '../../agents/deployments/health.ts'
import { findShownStatus } from '../../agents/registry/status.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { messages } from '../../conversations/chat/tables.ts'
import { formatStats, NOT_MEASURED } from './format.ts'
import { countQuestions } from './queries.ts'

export type StatsDeps = HealthDeps & Base & { runtimes: Pick<Runtimes, 'runtimeOf'> }

/** A starting agent must not delay the statistics. */
const PROBE_MS = 2000
const HOUR_MS = 3_600_000
/** Response times are averaged over this many messages. */
const RECENT_LINES = 400
/** Limits the messages read for an hour's count. */
const MAX_LINES_AN_HOUR = 4000

const NO_USE = {
  cpu: NOT_MEASURED,
  memory: NOT_MEASURED,
  memoryPercent: NOT_MEASURED,
  network: NOT_MEASURED,
  pids: NOT_MEASURED,
}

/** Returns current resource usage and message statistics of an agent. */
export async function findAgentStats(deps: StatsDeps, agent: AgentRow) {
  const status = await findShownStatus(deps.runtimes, agent)
  return {
    agentId: agent.id,
    ...(await findUse(deps, agent, status)),
    status,
    health: await containerHealth(deps, agent, AbortSignal.timeout(PROBE_MS)),
    ...countMessages(deps, agent),
    timestamp: deps.clock.now().toISOString(),
  }
}

async function findUse({ runtimes }: StatsDeps, agent: AgentRow, status: AgentRow['status']) {
  try {
    const { blockIO: _blockIO, ...use } = formatStats(await runtimes.runtimeOf(agent).stats(agent.id))
    return use
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    // A stopped agent has no uptime; the uptime of an unreachable one is unknown.
    const uptime = status === 'unknown' || status === 'running' ? null : 0
    return { ...NO_USE, uptime, uptimeFormatted: NOT_MEASURED }
  }
}

function countMessages({ db, clock }: StatsDeps, agent: AgentRow) {
  const { processed, failed } = countQuestions(db, [agent.id]).get(agent.id) ?? { processed: 0, failed: 0 }
  return {
    messagesProcessed: processed,
    messagesFailed: failed,
    messagesPerHour: countRecentQuestions(db, agent.id, new Date(clock.now().getTime() - HOUR_MS)),
    averageResponseTime: averageResponseMs(db, agent) ?? NOT_MEASURED,
    successRate: processed > 0 ? (((processed - failed) / processed) * 100).toFixed(2) : NOT_MEASURED,
    errorRate: processed > 0 ? ((failed / processed) * 100).toFixed(2) : NOT_MEASURED,
  }
}

function countRecentQuestions(db: Db, agentId: string, since: Date): number {
  const latest = db
    .select({ sender: messages.sender, createdAt: messages.createdAt })
    .from(messages)
    .where(eq(messages.agentId, agentId))
    .orderBy(desc(messages.sequence))
    .limit(MAX_LINES_AN_HOUR)
    .as('latest')
  const isRecent = and(eq(latest.sender, 'user'), gte(latest.createdAt, since))
  return db.select({ rows: count() }).from(latest).where(isRecent).get()?.rows ?? 0
}

/**
 * Returns the mean time from a user's message to the agent's next message to that user, in whole milliseconds; null
 * without a pair.
 */
function averageResponseMs(db: Db, agent: AgentRow): number | null {
  const times = listResponseTimes(readRecentLines(db, agent.id))
  return times.length > 0 ? Math.round(times.reduce((sum, time) => sum + time, 0) / times.length) : null
}

type RecentLine = Pick<typeof messages.$inferSelect, 'userId' | 'sender' | 'createdAt'>

/** Oldest first. */
function readRecentLines(db: Db, agentId: string): RecentLine[] {
  const { userId, sender, createdAt } = messages
  return db
    .select({ userId, sender, createdAt })
    .from(messages)
    .where(eq(messages.agentId, agentId))
    .orderBy(desc(messages.sequence))
    .limit(RECENT_LINES)
    .all()
    .reverse()
}

function listResponseTimes(lines: RecentLine[]): number[] {
  const asked = new Map<string, RecentLine>()
  return lines.flatMap((line) => {
    const question = asked.get(line.userId)
    if (line.sender === 'user') asked.set(line.userId, line)
    if (line.sender === 'user' || !question) return []
    asked.delete(line.userId)
    return line.createdAt.getTime() - question.createdAt.getTime()
  })
}
