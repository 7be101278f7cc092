import { eq } from 'drizzle-orm'
import { z } from 'zod'
import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { inRequest } from '../../../core/request-id.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import {
  DEPLOY_JOB,
  endOperation,
  findOperation,
  findUnfinished,
  hasNewer,
  type OperationKind,
  REMOVE_JOB,
  setStep,
} from '../operations/operations.ts'
import type { OperationRow } from '../operations/tables.ts'
import { findAgentRow } from '../registry/agents.ts'
import { agents } from '../registry/tables.ts'
import { finishDeletion, Removal } from './delete.ts'
import { runRepair } from './health.ts'
import { imageOf } from './spec.ts'
import {
  bringUp,
  chooseRuntime,
  commit,
  endIfUnwanted,
  isCurrent,
  markFailed,
  type OperationDeps,
  pullOperationImage,
  readLogTail,
  runtimeOf,
  stopIfDeployed,
  toLogged,
  toReason,
} from './start.ts'
import { RollbackError, runResetMemory, runRestoreSnapshot, runUpdate } from './update.ts'

type Runner = (deps: OperationDeps, operation: OperationRow, signal: AbortSignal) => Promise<void>

const RUNNERS: Readonly<Record<OperationKind, Runner>> = {
  deploy: runDeployment,
  start: runDeployment,
  restart: runDeployment,
  update: runUpdate,
  repair: runUserRepair,
  'reset-memory': runResetMemory,
  'restore-snapshot': runRestoreSnapshot,
}

/**
 * Executes the pending operations of an agent in order. Every step is recorded and idempotent, so a restarted platform
 * continues where it stopped. Failures are recorded as outcomes with their reason.
 */
async function runOperations(deps: OperationDeps, agentId: string, signal: AbortSignal): Promise<void> {
  await deps.agentLocks.run(agentId, async () => {
    for (;;) {
      const operation = findUnfinished(deps.db, agentId)
      if (!operation) return
      await inRequest(operation.requestId ?? undefined, () => runOperation(deps, operation, signal))
    }
  })
  await endIfUnwanted(deps, agentId)
}

/** Fails every pending operation of an agent whose job has died. */
async function giveUp(deps: Pick<OperationDeps, 'db' | 'clock'>, agentId: string): Promise<void> {
  await write(deps.db, (tx) => {
    const now = deps.clock.now()
    for (let left = findUnfinished(tx, agentId); left; left = findUnfinished(tx, agentId))
      endOperation(tx, left, { result: 'failed', error: 'The deployment was given up' }, now)
    markFailed(tx, agentId, 'The deployment was given up', now)
  })
}

async function runOperation(deps: OperationDeps, operation: OperationRow, signal: AbortSignal): Promise<void> {
  let isBefore = operation.step === 'queued'
  try {
    if (!(await begin(deps, operation))) return
    await chooseRuntime(deps, operation.agentId)
    // Check the platform's URL first: an agent that could not reach the platform is not even stopped.
    if (isBefore) await deps.urlForAgents(runtimeOf(deps, operation))
    isBefore = false
    await RUNNERS[operation.kind](deps, operation, signal)
    logResult(deps, operation)
  } catch (error) {
    // Keep the operation on shutdown and half-done rollbacks, so that the job runs again.
    if (signal.aborted || error instanceof RollbackError) throw error
    await fail(deps, operation, error, isBefore || isBeforeChange(deps.db, operation))
  }
}

/** Logs the outcome of an operation; failures are logged elsewhere. */
function logResult({ db, log }: OperationDeps, { id }: OperationRow): void {
  const operation = findOperation(db, id)
  if (!operation?.result) return
  const { agentId, kind, result, requestId, requestedBy: by, requestedAt, finishedAt } = operation
  const ms = finishedAt ? finishedAt.getTime() - requestedAt.getTime() : undefined
  log.info({ requestId: requestId ?? undefined, agentId, by, result, ms }, `agent ${kind}`)
}

/** Records the start of an operation. @returns false when the agent was stopped before. */
async function begin(deps: OperationDeps, operation: OperationRow): Promise<boolean> {
  if (operation.step !== 'queued') return true
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const agent = findAgentRow(tx, operation.agentId)
    if (!agent || agent.status === 'stopped') {
      endOperation(tx, operation, { result: 'cancelled', error: 'The agent was stopped' }, now)
      return false
    }
    setStep(tx, operation, 'queued', { startedAt: now })
    if (operation.kind !== 'update')
      tx.update(agents).set({ status: 'provisioning', updatedAt: now }).where(eq(agents.id, agent.id)).run()
    return true
  })
}

async function runDeployment(deps: OperationDeps, operation: OperationRow, signal: AbortSignal): Promise<void> {
  if (operation.kind === 'restart' && (operation.step === 'queued' || operation.step === 'stop')) {
    await write(deps.db, (tx) => setStep(tx, operation, 'stop'))
    await stopIfDeployed(runtimeOf(deps, operation), operation.agentId)
  }
  const agent = findAgentRow(deps.db, operation.agentId)
  if (!agent) return
  await pullOperationImage(deps, operation, imageOf(deps, agent), signal)
  const isWanted = () => isCurrent(deps.db, operation)
  await commit(deps, operation, await bringUp(deps, operation, agent, { signal, isWanted }))
}

async function runUserRepair(deps: OperationDeps, operation: OperationRow, signal: AbortSignal): Promise<void> {
  await write(deps.db, (tx) => setStep(tx, operation, 'health'))
  const isVerified = await runRepair(deps, operation.agentId, 'provisioning', signal)
  const inspection = await runtimeOf(deps, operation).inspect(operation.agentId)
  if (!isVerified || !inspection) throw new AppError('unavailable', 'The agent was not healthy after its repair')
  await commit(deps, operation, inspection)
}

/**
 * Records a failure and stops the agent, so that the engine does not restart it. An agent that was not touched yet,
 * because the engine or the image was unavailable, keeps its former status.
 */
async function fail(deps: OperationDeps, operation: OperationRow, error: unknown, isBefore: boolean): Promise<void> {
  const { agentId, kind, requestId, requestedBy: by } = operation
  const cause = { requestId: requestId ?? undefined, agentId, by, error: toLogged(error) }
  deps.log.error(cause, `agent ${kind} failed`)
  const agent = findAgentRow(deps.db, agentId)
  if (!agent) return
  const runtime = deps.runtimes.runtimeOf(agent)
  const isUntouched = isBefore || !(await runtime.isAvailable())
  const logTail = isUntouched
    ? null
    : (findOperation(deps.db, operation.id)?.logTail ?? (await readLogTail(runtime, agentId)))
  if (!isUntouched && isCurrent(deps.db, operation)) await stopFailed(deps, runtime, agentId)
  await write(deps.db, (tx) => {
    const now = deps.clock.now()
    const status = tx.select({ status: agents.status }).from(agents).where(eq(agents.id, agentId)).get()?.status
    const isReplaced = hasNewer(tx, operation)
    const result = isReplaced ? 'replaced' : status === 'stopped' ? 'cancelled' : resultOf(error, isUntouched)
    endOperation(tx, operation, { result, error: toReason(error), logTail }, now)
    // A newer operation decides the agent's status.
    if (isReplaced) return
    markFailed(tx, agentId, toReason(error), now)
    const { statusBefore } = operation
    const wasSettled = statusBefore === 'running' || statusBefore === 'sleeping' || statusBefore === 'stopped'
    const isAsBefore = wasSettled || (statusBefore === 'pending' && result === 'refused')
    if (isUntouched && status !== 'stopped' && isAsBefore)
      tx.update(agents).set({ status: statusBefore, lastError: null }).where(eq(agents.id, agentId)).run()
  })
}

/** Returns `refused` when the request itself was invalid and nothing was changed. */
function resultOf(error: unknown, isUntouched: boolean): 'refused' | 'failed' {
  if (!isUntouched || !(error instanceof AppError)) return 'failed'
  return error.kind === 'invalid' || error.extra.code === 'IMAGE_NOT_FOUND' ? 'refused' : 'failed'
}

/** Returns whether the operation has changed nothing yet. */
function isBeforeChange(db: Db, { id, kind }: OperationRow): boolean {
  const step = findOperation(db, id)?.step
  return (kind === 'update' || kind === 'restore-snapshot') && (step === 'queued' || step === 'pull')
}

async function stopFailed(deps: OperationDeps, runtime: Runtime, agentId: string): Promise<void> {
  try {
    await stopIfDeployed(runtime, agentId)
  } catch (error) {
    deps.log.warn({ agent: agentId, error: errorMessage(error) }, 'a failed agent could not be stopped')
  }
}

const AgentJob = z.object({ agentId: z.string() })

export function deployJob(deps: OperationDeps): JobKind {
  return defineJob({
    kind: DEPLOY_JOB,
    payload: AgentJob,
    run: ({ agentId }, signal) => runOperations(deps, agentId, signal),
    onDead: ({ agentId }) => giveUp(deps, agentId),
  })
}

export function removeJob(deps: OperationDeps): JobKind {
  return defineJob({
    kind: REMOVE_JOB,
    payload: Removal,
    // The engine may be away for days; the removal is retried until it is back.
    maxAttempts: Number.POSITIVE_INFINITY,
    run: async (removal) => {
      await finishDeletion(deps, removal)
      deps.log.info({ agentId: removal.agentId }, 'what ran for a deleted agent was removed')
    },
  })
}
