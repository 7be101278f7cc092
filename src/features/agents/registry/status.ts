import { and, eq, isNotNull, isNull, ne, or, sql } from 'drizzle-orm'
import type { AgentRuntimeEvent, Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { type AgentRow, agents } from './tables.ts'

/** Decisions, 19: the backend says `active` for a running agent. */
export function toBackendStatus(status: AgentRow['status']): string {
  return status === 'running' ? 'active' : status
}

/** The status of an agent as people are told it: one that should run and is down is in `error`. Its row stays as it is. */
export function toShownStatus({ status, downAt }: Pick<AgentRow, 'status' | 'downAt'>): AgentRow['status'] {
  return status === 'running' && downAt !== null ? 'error' : status
}

/** The same, of the row of a query. */
export const shownStatus = sql<
  AgentRow['status']
>`CASE WHEN ${agents.status} = 'running' AND ${agents.downAt} IS NOT NULL THEN 'error' ELSE ${agents.status} END`

/** What went wrong with an agent whose status people are told as `status`; null when nothing did or it is over. */
export function toShownError(status: string, { lastError }: Pick<AgentRow, 'lastError'>): string | null {
  return status === 'error' || status === 'running' ? lastError : null
}

/** As `toShownStatus`, asked of its runtime now: `unknown` when it should run and the engine cannot be asked about it. */
export async function findShownStatus(
  runtimes: Pick<Runtimes, 'runtimeOf'>,
  agent: AgentRow,
): Promise<AgentRow['status']> {
  if (agent.status !== 'running') return agent.status
  try {
    const inspection = await runtimes.runtimeOf(agent).inspect(agent.id)
    return inspection?.state === 'running' ? toShownStatus(agent) : 'error'
  } catch (error) {
    if (error instanceof AppError) return 'unknown'
    throw error
  }
}

/** Notes that an agent which should run does not, and why. One whose row says anything else is left alone. */
export function markDown(tx: Tx, agentId: string, reason: string, now: Date): void {
  const isNews = or(isNull(agents.downAt), isNull(agents.lastError), ne(agents.lastError, reason))
  const isUp = and(eq(agents.id, agentId), eq(agents.status, 'running'), isNull(agents.downAt))
  tx.update(agents).set({ downAt: now }).where(isUp).run()
  tx.update(agents)
    .set({ lastError: reason })
    .where(and(eq(agents.id, agentId), eq(agents.status, 'running'), isNews))
    .run()
}

/** Notes that it runs and answers again. */
export function markUp(tx: Tx, agentId: string): void {
  const isDown = and(eq(agents.id, agentId), isNotNull(agents.downAt))
  tx.update(agents).set({ downAt: null, lastError: null }).where(isDown).run()
}

/**
 * What happens to agents where their rows say that they run, until `signal` aborts. What another runtime has under the
 * name of an agent is not that agent.
 */
export async function* watchAgentEvents(
  { db, runtimes }: { db: Db; runtimes: Pick<Runtimes, 'watch'> },
  signal: AbortSignal,
): AsyncGenerator<AgentRuntimeEvent> {
  for await (const event of runtimes.watch(signal)) {
    const row = db.select({ runtime: agents.runtime }).from(agents).where(eq(agents.id, event.id)).get()
    if (row && (row.runtime === null || row.runtime === event.runtime)) yield event
  }
}
