import { AppError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { setStep } from '../operations/operations.ts'
import type { OperationRow } from '../operations/tables.ts'
import { findAgentRow } from '../registry/list.ts'
import { forgetSnapshots } from '../snapshots/snapshots.ts'
import { toEndpoint } from './health.ts'
import { bringUp, commit, type OperationDeps } from './start.ts'
import { isWantedUp, keepState } from './update.ts'

/**
 * Clears an agent's memory and sessions: it is stopped, what it has stored is kept, and when it is healthy again it is told
 * to forget. An agent that cannot forget runs on as it was. @throws AppError with the reason why it does not run.
 */
export async function runResetMemory(deps: OperationDeps, operation: OperationRow, signal: AbortSignal): Promise<void> {
  const { agentId, step } = operation
  if (step === 'queued' || step === 'stop' || step === 'snapshot') await keepState(deps, operation)
  const agent = findAgentRow(deps.db, agentId)
  if (!agent) return
  const isWanted = () => isWantedUp(deps.db, agentId)
  const inspection = await bringUp(deps, operation, agent, { signal, isWanted })
  await write(deps.db, (tx) => setStep(tx, operation, 'reset'))
  try {
    await deps.gateway.resetMemory(toEndpoint(deps.sealer, agent, inspection))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return commit(deps, operation, inspection, { result: 'failed', error: error.message })
  }
  // Decisions, 19: what was kept about it beside it goes as well.
  await write(deps.db, (tx) => deps.clearMemory(tx, agentId))
  await forgetSnapshots(deps, agentId)
  await commit(deps, operation, inspection)
}
