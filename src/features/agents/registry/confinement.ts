import { AppError } from '../../../core/errors.ts'
import type { AgentRow } from './tables.ts'

/** Why no command may be run for an agent; null where its runtime keeps what it does away from everything else. */
export function whyUnconfined({ runtime, kind }: Pick<AgentRow, 'runtime' | 'kind'>): string | null {
  if (kind === 'openclaw') return 'OpenClaw has tools of its own for that'
  if (runtime === null) return 'it was never started, so nobody knows yet where it will run'
  if (runtime === 'process') return 'it runs as a process of the host, which nothing confines; that takes a container'
  return null
}

/** @throws AppError `invalid` NOT_CONFINED, saying why, where `what` would not be confined. */
export function requireConfined(agent: Pick<AgentRow, 'runtime' | 'kind'>, what: string): void {
  const reason = whyUnconfined(agent)
  if (reason !== null) {
    throw new AppError('invalid', `${what} is not possible for this agent: ${reason}.`, { code: 'NOT_CONFINED' })
  }
}
