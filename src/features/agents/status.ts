import type { Runtimes } from '../../adapters/runtimes.ts'
import { AppError } from '../../core/errors.ts'
import type { AgentRow } from './tables.ts'

/** Rulings, 19: the backend says `active` for a running agent. */
export function toBackendStatus(status: AgentRow['status']): string {
  return status === 'running' ? 'active' : status
}

/** Rulings, 19: what the backend calls `active` is `running` on the web. */
export function toWebStatus(status: string): string {
  return status === 'active' ? 'running' : status
}

/** The agent's status, `unknown` when it should run and the engine cannot be asked about it. Its row stays as it is. */
export async function findShownStatus(runtimes: Pick<Runtimes, 'of'>, agent: AgentRow): Promise<AgentRow['status']> {
  if (agent.status !== 'running') return agent.status
  try {
    await runtimes.of(agent).inspect(agent.id)
    return agent.status
  } catch (error) {
    if (error instanceof AppError) return 'unknown'
    throw error
  }
}
