import { and, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { removeKeptStates } from '../kept-states/kept-states.ts'
import { endOperation, findOperation, setStep } from '../operations/operations.ts'
import type { OperationRow } from '../operations/tables.ts'
import { findAgentRow } from '../registry/agents.ts'
import { agents } from '../registry/tables.ts'
import { forgetSnapshots, requireSnapshot, restoreFromSnapshot, takeSnapshot } from '../snapshots/snapshots.ts'
import { toInspectedEndpoint } from './health.ts'
import {
  bringUp,
  commit,
  type OperationDeps,
  pullOperationImage,
  readLogTail,
  runtimeOf,
  stopIfDeployed,
  toLogged,
  toReason,
} from './start.ts'

/** A rollback that failed halfway. Its job runs again until it succeeds. */
export class RollbackError extends Error {
  constructor(message: string, options: ErrorOptions) {
    super(message, options)
    this.name = 'GoingBackError'
  }
}

/**
 * Updates an agent to another image: pulls the image while the agent runs, stops it, takes a snapshot, and starts the
 * new image on the same volume, port and token. When it is not healthy in time, the snapshot is restored and the old
 * image runs again. Each step is recorded, so a crash only delays it.
 * @throws AppError with the reason when nothing was changed, or when the old image does not run any more either.
 */
export async function runUpdate(deps: OperationDeps, operation: OperationRow, signal: AbortSignal): Promise<void> {
  const { step } = operation
  if (step === 'queued' || step === 'pull') {
    await pullOperationImage(deps, operation, operation.image, signal)
    await takeOver(deps, operation)
  }
  if (step === 'restore') return rollBack(deps, operation, signal)
  try {
    if (!isStarted(step)) await keepState(deps, operation)
    await startNew(deps, operation, signal)
    await forgetSnapshots(deps, operation.agentId)
  } catch (error) {
    if (signal.aborted) throw error
    const { requestId, agentId, image } = operation
    deps.log.error({ requestId: requestId ?? undefined, agentId, image, error: toLogged(error) }, 'agent update failed')
    const logTail = await readLogTail(runtimeOf(deps, operation), operation.agentId)
    await write(deps.db, (tx) => setStep(tx, operation, 'restore', { error: toReason(error), logTail }))
    await rollBack(deps, operation, signal)
  }
}

/**
 * Restores an agent's state from a snapshot: stops it, takes a snapshot of the present state, replaces the state and
 * starts it. When it is not healthy in time, the present state is restored. Each step is recorded, so a crash only
 * delays it.
 * @throws AppError `invalid` when the snapshot no longer exists, else the reason why the agent does not run at all.
 */
export async function runRestoreSnapshot(
  deps: OperationDeps,
  operation: OperationRow,
  signal: AbortSignal,
): Promise<void> {
  const { agentId, step, source } = operation
  if (step === 'queued') {
    await requireSnapshot(deps, agentId, source ?? '')
    // Fail before any change when the engine does not respond.
    await runtimeOf(deps, operation).inspect(agentId)
  }
  if (step === 'restore') return rollBack(deps, operation, signal)
  try {
    if (step === 'queued' || step === 'stop' || step === 'snapshot') await keepState(deps, operation, 'replace')
    if (!isStarted(step)) await replaceState(deps, operation)
    await startNew(deps, operation, signal)
    await forgetSnapshots(deps, agentId, source)
  } catch (error) {
    if (signal.aborted) throw error
    const requestId = operation.requestId ?? undefined
    deps.log.error(
      { requestId, agentId, snapshot: source, error: toLogged(error) },
      'agent does not run on its snapshot',
    )
    const logTail = await readLogTail(runtimeOf(deps, operation), agentId)
    await write(deps.db, (tx) => setStep(tx, operation, 'restore', { error: toReason(error), logTail }))
    await rollBack(deps, operation, signal)
  }
}

/** Returns whether the agent is still to be started and was not stopped or deleted meanwhile. */
function isWantedUp(db: Db, agentId: string): boolean {
  return findAgentRow(db, agentId)?.status === 'provisioning'
}

/** Stops the agent and takes a snapshot; records the `next` step with the snapshot's name. */
async function keepState(
  deps: OperationDeps,
  operation: OperationRow,
  next: 'starting' | 'replace' = 'starting',
): Promise<void> {
  await write(deps.db, (tx) => setStep(tx, operation, 'stop'))
  const runtime = runtimeOf(deps, operation)
  await stopIfDeployed(runtime, operation.agentId)
  await write(deps.db, (tx) => setStep(tx, operation, 'snapshot'))
  const snapshot = await takeSnapshot({ runtime, objects: deps.objects }, operation)
  await write(deps.db, (tx) => setStep(tx, operation, next, { snapshot }))
}

/** Replaces the agent's state by the snapshot. */
async function replaceState(deps: OperationDeps, operation: OperationRow): Promise<void> {
  const { agentId, source } = operation
  const runtime = runtimeOf(deps, operation)
  await restoreFromSnapshot({ runtime, objects: deps.objects }, agentId, source ?? '')
  await write(deps.db, (tx) => {
    // The restored state may hold pairings of an earlier token, which the next start ends.
    tx.update(agents).set({ tokensChangedAt: deps.clock.now() }).where(eq(agents.id, agentId)).run()
    setStep(tx, operation, 'starting')
  })
}

/** Marks the agent as unavailable from here on. A stop since the request wins. */
async function takeOver(deps: OperationDeps, operation: OperationRow): Promise<void> {
  const isStopped = await write(deps.db, (tx) => {
    const agent = eq(agents.id, operation.agentId)
    tx.update(agents)
      .set({ status: 'provisioning', updatedAt: deps.clock.now() })
      .where(and(agent, eq(agents.status, 'running')))
      .run()
    return tx.select({ status: agents.status }).from(agents).where(agent).get()?.status !== 'provisioning'
  })
  if (isStopped) throw new AppError('conflict', 'The agent was stopped')
}

async function startNew(deps: OperationDeps, operation: OperationRow, signal: AbortSignal): Promise<void> {
  const agent = findAgentRow(deps.db, operation.agentId)
  if (!agent) throw new AppError('not_found', 'Agent not found')
  const isWanted = () => isWantedUp(deps.db, agent.id)
  const image = operation.kind === 'update' ? operation.image : agent.image
  const inspection = await bringUp(deps, operation, { ...agent, image }, { signal, isWanted })
  await commit(deps, operation, inspection)
}

/**
 * Restores the earlier state and image. An agent that was stopped meanwhile stays stopped.
 * @throws RollbackError when the engine fails, so that it is retried; AppError when the old image does not run.
 */
async function rollBack(deps: OperationDeps, { id, agentId }: OperationRow, signal: AbortSignal): Promise<void> {
  const operation = findOperation(deps.db, id)
  if (!operation) return
  const { snapshot, error } = operation
  try {
    const runtime = runtimeOf(deps, operation)
    await stopIfDeployed(runtime, agentId)
    if (snapshot) await restoreFromSnapshot({ runtime, objects: deps.objects }, agentId, snapshot)
  } catch (cause) {
    throw new RollbackError(`Cannot put back what the agent had stored: ${toLogged(cause)}`, { cause })
  }
  const agent = findAgentRow(deps.db, agentId)
  if (agent?.status !== 'provisioning') return cancel(deps, operation)
  const isWanted = () => isWantedUp(deps.db, agentId)
  try {
    const inspection = await bringUp(deps, operation, agent, { signal, isWanted })
    await commit(deps, operation, inspection, { result: 'rolled-back', error })
  } catch (cause) {
    if (signal.aborted || !isWanted()) throw cause
    if (!(await deps.runtimes.runtimeOf(agent).isAvailable())) throw new RollbackError(toLogged(cause), { cause })
    throw new AppError('internal', `${error}. Going back failed as well: ${toReason(cause)}`, {}, { cause })
  }
}

async function cancel(deps: OperationDeps, operation: OperationRow): Promise<void> {
  const { error } = operation
  await write(deps.db, (tx) => endOperation(tx, operation, { result: 'cancelled', error }, deps.clock.now()))
}

function isStarted(step: OperationRow['step']): boolean {
  return step === 'starting' || step === 'port' || step === 'health'
}

/**
 * Clears an agent's memory and sessions after taking a snapshot. An agent that cannot clear them keeps running as before.
 * @throws AppError with the reason why it does not run.
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
    await deps.gateway.resetMemory(toInspectedEndpoint(deps.sealer, agent, inspection))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return commit(deps, operation, inspection, { result: 'failed', error: error.message })
  }
  // The platform's own memory of the agent must be deleted too.
  await write(deps.db, (tx) => deps.clearMemory(tx, agentId))
  await removeKeptStates(deps, agentId)
  await forgetSnapshots(deps, agentId)
  await commit(deps, operation, inspection)
}
