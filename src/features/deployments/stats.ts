import { and, count, desc, eq, gte } from 'drizzle-orm'
import type { Runtimes } from '../../adapters/runtimes.ts'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import type { Db } from '../../db/open.ts'
import { findShownStatus } from '../agents/status.ts'
import type { AgentRow } from '../agents/tables.ts'
import { type MessageRow, messages } from '../chat/tables.ts'
import { formatStats, NOT_MEASURED } from '../metrics/format.ts'
import { containerHealth, type HealthDeps } from './health.ts'

export type StatsDeps = HealthDeps & { db: Db; clock: Clock; runtimes: Pick<Runtimes, 'of'> }

/** Whoever asks for numbers does not wait for an agent that is starting. */
const PROBE_MS = 2000
const HOUR_MS = 3_600_000
/** Response times are those of the last conversations. */
const RECENT_LINES = 400

/** What an agent uses now, as its runtime measures it, and what came of the messages it was sent. */
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
    const { blockIO: _blockIO, ...use } = formatStats(await runtimes.of(agent).stats(agent.id))
    return use
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const nothing = {
      cpu: NOT_MEASURED,
      memory: NOT_MEASURED,
      memoryPercent: NOT_MEASURED,
      network: NOT_MEASURED,
      pids: NOT_MEASURED,
    }
    // An agent that does not run has been up for no time; of one that cannot be asked nobody knows.
    const uptime = status === 'unknown' || status === 'running' ? null : 0
    return { ...nothing, uptime, uptimeFormatted: NOT_MEASURED }
  }
}

function countMessages({ db, clock }: StatsDeps, agent: AgentRow) {
  const isQuestion = and(
    agent.ownerId ? eq(messages.userId, agent.ownerId) : undefined,
    eq(messages.agentId, agent.id),
    eq(messages.sender, 'user'),
  )
  const since = new Date(clock.now().getTime() - HOUR_MS)
  const processed = countRows(db, isQuestion)
  const failed = countRows(db, and(isQuestion, eq(messages.status, 'failed')))
  return {
    messagesProcessed: processed,
    messagesFailed: failed,
    messagesPerHour: countRows(db, and(isQuestion, gte(messages.createdAt, since))),
    averageResponseTime: averageResponseMs(db, agent) ?? NOT_MEASURED,
    successRate: processed > 0 ? (((processed - failed) / processed) * 100).toFixed(2) : NOT_MEASURED,
    errorRate: processed > 0 ? ((failed / processed) * 100).toFixed(2) : NOT_MEASURED,
  }
}

function countRows(db: Db, condition: ReturnType<typeof and>): number {
  return db.select({ rows: count() }).from(messages).where(condition).get()?.rows ?? 0
}

/** From a question to the next line of the agent to the same user, in whole milliseconds; null without such a pair. */
function averageResponseMs(db: Db, agent: AgentRow): number | null {
  const isTheirs = and(agent.ownerId ? eq(messages.userId, agent.ownerId) : undefined, eq(messages.agentId, agent.id))
  const rows = db.select().from(messages).where(isTheirs).orderBy(desc(messages.sequence)).limit(RECENT_LINES).all()
  const asked = new Map<string, MessageRow>()
  const times: number[] = []
  for (const row of rows.reverse()) {
    const question = asked.get(row.userId)
    if (row.sender === 'user') asked.set(row.userId, row)
    else if (question) {
      times.push(row.createdAt.getTime() - question.createdAt.getTime())
      asked.delete(row.userId)
    }
  }
  return times.length > 0 ? Math.round(times.reduce((sum, time) => sum + time, 0) / times.length) : null
}
