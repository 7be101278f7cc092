import { sql } from 'drizzle-orm'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
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
