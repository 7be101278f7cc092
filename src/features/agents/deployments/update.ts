import { and, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { endOperation, findOperation, setStep } from '../operations/operations.ts'
import type { OperationRow } from '../operations/tables.ts'
import { findAgentRow } from '../registry/agents.ts'
import { agents } from '../registry/tables.ts'
import { forgetSnapshots, requireSnapshot, snapshotFile, takeSnapshot } from '../snapshots/snapshots.ts'
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

/** An update that is half undone. It must not be left so: its job is run again. */
export class GoingBackError extends Error {
  constructor(message: string, options: ErrorOptions) {
    super(message, options)
    this.name = 'GoingBackError'
  }
}

/**
 * Brings an agent to another image: the image is fetched while the agent runs, then it is stopped, what it has stored is
 * kept, and the new image is started on the same volume, port and token. When that is not healthy in time, what was stored
 * is put back and the old image runs again. Each step is recorded: a crash at any of them only delays it.
 * @throws AppError with the reason when nothing was changed, and when the old image does not run any more either.
 */
export async function runUpdate(deps: OperationDeps, operation: OperationRow, signal: AbortSignal): Promise<void> {
  const { step } = operation
  if (step === 'queued' || step === 'pull') {
    await pullOperationImage(deps, operation, operation.image, signal)
    await takeOver(deps, operation)
  }
  if (step === 'restore') return goBack(deps, operation, signal)
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
    await goBack(deps, operation, signal)
  }
}

/**
 * Puts back what an agent had stored at an earlier time: it is stopped, what it has stored now is kept, the snapshot takes its
 * place, and it is started. When it is not healthy with that in time, it runs with what it had before. Each step is
 * recorded: a crash at any of them only delays it.
 * @throws AppError `invalid` when the snapshot is not kept any more, else with the reason why it does not run in any state.
 */
export async function runRestoreSnapshot(
  deps: OperationDeps,
  operation: OperationRow,
  signal: AbortSignal,
): Promise<void> {
  const { agentId, step, source } = operation
  if (step === 'queued') {
    await requireSnapshot(deps, agentId, source ?? '')
    // An engine that does not answer is told of before anything is changed.
    await runtimeOf(deps, operation).inspect(agentId)
  }
  if (step === 'restore') return goBack(deps, operation, signal)
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
    await goBack(deps, operation, signal)
  }
}

/** Should the agent be brought up? Not when somebody stopped or deleted it meanwhile. */
function isWantedUp(db: Db, agentId: string): boolean {
  return findAgentRow(db, agentId)?.status === 'provisioning'
}

/** Stops the agent and keeps what it has stored; the step that comes `next` is recorded with the snapshot's name. */
async function keepState(
  deps: OperationDeps,
  operation: OperationRow,
  next: 'starting' | 'replace' = 'starting',
): Promise<void> {
  await write(deps.db, (tx) => setStep(tx, operation, 'stop'))
  const runtime = runtimeOf(deps, operation)
  await stopIfDeployed(runtime, operation.agentId)
  await write(deps.db, (tx) => setStep(tx, operation, 'snapshot'))
  const snapshot = await takeSnapshot({ runtime, snapshotDir: deps.snapshotDir }, operation)
  await write(deps.db, (tx) => setStep(tx, operation, next, { snapshot }))
}

/** Puts the snapshot in the place of what the agent has stored. Whoever it let in then is sent away when it is started. */
async function replaceState(deps: OperationDeps, operation: OperationRow): Promise<void> {
  const { agentId, source } = operation
  await runtimeOf(deps, operation).restore(agentId, snapshotFile(deps, agentId, source ?? ''))
  await write(deps.db, (tx) => {
    // It may know devices and guests that an earlier token let in.
    tx.update(agents).set({ tokensChangedAt: deps.clock.now() }).where(eq(agents.id, agentId)).run()
    setStep(tx, operation, 'starting')
  })
}

/** From here on the agent is not there for others. A stop since the request has the last word. */
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
 * Puts back what was stored and the old image. An agent that was stopped meanwhile stays stopped.
 * @throws GoingBackError when the engine does not do it: it is tried again. AppError when the old image does not run.
 */
async function goBack(deps: OperationDeps, { id, agentId }: OperationRow, signal: AbortSignal): Promise<void> {
  const operation = findOperation(deps.db, id)
  if (!operation) return
  const { snapshot, error } = operation
  try {
    const runtime = runtimeOf(deps, operation)
    await stopIfDeployed(runtime, agentId)
    if (snapshot) await runtime.restore(agentId, snapshotFile(deps, agentId, snapshot))
  } catch (cause) {
    throw new GoingBackError(`Cannot put back what the agent had stored: ${toLogged(cause)}`, { cause })
  }
  const agent = findAgentRow(deps.db, agentId)
  if (agent?.status !== 'provisioning') return cancel(deps, operation)
  const isWanted = () => isWantedUp(deps.db, agentId)
  try {
    const inspection = await bringUp(deps, operation, agent, { signal, isWanted })
    await commit(deps, operation, inspection, { result: 'rolled-back', error })
  } catch (cause) {
    if (signal.aborted || !isWanted()) throw cause
    if (!(await deps.runtimes.runtimeOf(agent).isAvailable())) throw new GoingBackError(toLogged(cause), { cause })
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
    await deps.gateway.resetMemory(toInspectedEndpoint(deps.sealer, agent, inspection))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return commit(deps, operation, inspection, { result: 'failed', error: error.message })
  }
  // Decisions, 19: what was kept about it beside it goes as well.
  await write(deps.db, (tx) => deps.clearMemory(tx, agentId))
  await forgetSnapshots(deps, agentId)
  await commit(deps, operation, inspection)
}
