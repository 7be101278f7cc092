import { and, eq, isNotNull, isNull, ne, or, sql } from 'drizzle-orm'
import type { AgentRuntimeEvent, Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { type AgentRow, agents } from './tables.ts'

/** The error of an agent whose machine has no tunnel. */
export const MACHINE_OFFLINE = 'The machine is offline'

/** Returns the backend's status, which is `active` for a running agent. */
export function toBackendStatus(status: AgentRow['status']): string {
  return status === 'running' ? 'active' : status
}

/** Returns the visible status: an agent that should run and is down is in `error`. */
export function toShownStatus({ status, downAt }: Pick<AgentRow, 'status' | 'downAt'>): AgentRow['status'] {
  return status === 'running' && downAt !== null ? 'error' : status
}

/** `toShownStatus` as an SQL expression. */
export const shownStatus = sql<
  AgentRow['status']
>`CASE WHEN ${agents.status} = 'running' AND ${agents.downAt} IS NOT NULL THEN 'error' ELSE ${agents.status} END`

/** Returns the visible error of an agent with the visible `status`; null without one. */
export function toShownAgentError(status: string, { lastError }: Pick<AgentRow, 'lastError'>): string | null {
  return status === 'error' || status === 'running' ? lastError : null
}

/** Returns `toShownStatus` checked with the runtime; `unknown` when the engine does not respond. */
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

/** Records that a `running` agent is down, and why. */
export function markDown(tx: Tx, agentId: string, reason: string, now: Date): void {
  const isNews = or(isNull(agents.downAt), isNull(agents.lastError), ne(agents.lastError, reason))
  const isUp = and(eq(agents.id, agentId), eq(agents.status, 'running'), isNull(agents.downAt))
  tx.update(agents).set({ downAt: now }).where(isUp).run()
  tx.update(agents)
    .set({ lastError: reason })
    .where(and(eq(agents.id, agentId), eq(agents.status, 'running'), isNews))
    .run()
}

/** Records that an agent responds again. */
export function markUp(tx: Tx, agentId: string): void {
  const isDown = and(eq(agents.id, agentId), isNotNull(agents.downAt))
  tx.update(agents).set({ downAt: null, lastError: null }).where(isDown).run()
}

/**
 * Yields runtime events of agents until `signal` aborts. Events from a runtime other than the agent's own are
 * dropped.
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
