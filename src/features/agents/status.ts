import type { AgentRow } from './tables.ts'

/** Rulings, 19: the backend says `active` for a running agent. */
export function toBackendStatus(status: AgentRow['status']): string {
  return status === 'running' ? 'active' : status
}
