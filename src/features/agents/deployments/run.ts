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
import { GoingBackError, runResetMemory, runRestoreSnapshot, runUpdate } from './update.ts'

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
 * Carries out what was asked of an agent, in order, until nothing is left. Every step is recorded and safe to do again, so
 * a platform that dies at any of them goes on there. A failure is an outcome: it is written with its reason.
 */
async function runOperations(deps: OperationDeps, agentId: string, signal: AbortSignal): Promise<void> {
  await deps.agentTurns.take(agentId, async () => {
    for (;;) {
      const operation = findUnfinished(deps.db, agentId)
      if (!operation) return
      await inRequest(operation.requestId ?? undefined, () => runOperation(deps, operation, signal))
    }
  })
  await endIfUnwanted(deps, agentId)
}

/** Ends all that was asked of an agent and can never be done, because the job that does it died. */
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
    // Agents that would not find the platform from where they run are not even stopped for it.
    if (isBefore) await deps.urlForAgents(runtimeOf(deps, operation))
    isBefore = false
    await RUNNERS[operation.kind](deps, operation, signal)
    logResult(deps, operation)
  } catch (error) {
    // The platform stops, not the operation, and an update is not left half undone: the job is run again.
    if (signal.aborted || error instanceof GoingBackError) throw error
    await fail(deps, operation, error, isBefore || isBeforeChange(deps.db, operation))
  }
}

/** One line for what became of it; what failed has its own. */
function logResult({ db, log }: OperationDeps, { id }: OperationRow): void {
  const operation = findOperation(db, id)
  if (!operation?.result) return
  const { agentId, kind, result, requestId, requestedBy: by, requestedAt, finishedAt } = operation
  const ms = finishedAt ? finishedAt.getTime() - requestedAt.getTime() : undefined
  log.info({ requestId: requestId ?? undefined, agentId, by, result, ms }, `agent ${kind}`)
}

/** False when the agent was stopped before anything was done. */
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
 * An agent that could not be started does not go on trying behind the back of its row. Where nothing was done, because the
 * engine does not answer or the image cannot be had, the agent is what it was.
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
    // What was asked since decides what becomes of the agent.
    if (isReplaced) return
    markFailed(tx, agentId, toReason(error), now)
    const { statusBefore } = operation
    const wasSettled = statusBefore === 'running' || statusBefore === 'sleeping' || statusBefore === 'stopped'
    const isAsBefore = wasSettled || (statusBefore === 'pending' && result === 'refused')
    if (isUntouched && status !== 'stopped' && isAsBefore)
      tx.update(agents).set({ status: statusBefore, lastError: null }).where(eq(agents.id, agentId)).run()
  })
}

/** Refused is what could not even be begun, because of what was asked for. */
function resultOf(error: unknown, isUntouched: boolean): 'refused' | 'failed' {
  if (!isUntouched || !(error instanceof AppError)) return 'failed'
  return error.kind === 'invalid' || error.extra.code === 'IMAGE_NOT_FOUND' ? 'refused' : 'failed'
}

/** Has the operation changed nothing yet? */
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
    // An engine may be away for days: what it runs is ended when it is back.
    maxAttempts: Number.POSITIVE_INFINITY,
    run: async (removal) => {
      await finishDeletion(deps, removal)
      deps.log.info({ agentId: removal.agentId }, 'what ran for a deleted agent was removed')
    },
  })
}
