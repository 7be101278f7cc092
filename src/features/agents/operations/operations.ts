import { and, asc, desc, eq, gt, isNotNull, isNull, ne } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { currentRequestId } from '../../../core/request-id.ts'
import { beyondNewest } from '../../../db/beyond-newest.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { jobs } from '../../../jobs/tables.ts'
import { agents } from '../registry/tables.ts'
import { type DeploymentRow, deploymentHistory, deployments, type OperationRow } from './tables.ts'

/** Separates a failure from the agent's last output. */
export const OUTPUT_FOLLOWS = '. Its last output:\n'

/** The job that executes the operations of one agent. */
export const DEPLOY_JOB = 'agents.deploy'
/** The job that removes the container or process of a deleted agent. */
export const REMOVE_JOB = 'agents.remove'
/** Operations kept per agent. */
const MAX_HISTORY = 50
/** Characters kept of a failed agent's output. */
const MAX_LOG_CHARACTERS = 16_000

export type OperationKind = OperationRow['kind']
type OperationStep = OperationRow['step']
/** A requested operation; images apply to an update, `source` to a restored snapshot. */
export type NewOperation = {
  kind: OperationKind
  requestedBy: string
  image?: string | null
  previousImage?: string | null
  source?: string | null
}

/** `requestedBy` of the internal key. */
export const OPERATOR = 'operator'

/** Returns the `requestedBy` of a caller. */
export function toRequester(principal: Principal): string {
  return principal.kind === 'user' ? principal.user.id : OPERATOR
}

/** Returns the key of an agent's deployment job; only an unfinished job holds it. */
export function deployKey(agentId: string): string {
  return `deploy:${agentId}`
}

/** Returns the key of an agent's removal job; only an unfinished job holds it. */
export function removeKey(agentId: string): string {
  return `remove:${agentId}`
}

/** Returns whether an agent of this id is still being removed. */
export function isBeingRemoved(db: Db, agentId: string): boolean {
  return (
    db
      .select({ id: jobs.id })
      .from(jobs)
      .where(eq(jobs.key, removeKey(agentId)))
      .get() !== undefined
  )
}

/**
 * Records an operation and its job in the caller's transaction, so that no crash loses it. A repeated request before
 * the operation started returns the same one.
 * @returns its id. @throws AppError `conflict` while the agent is being deleted, and RUNS_ON_MACHINE.
 */
export function requestOperation(
  deps: { clock: Clock; enqueue: Enqueue },
  tx: Tx,
  agentId: string,
  operation: NewOperation,
): number {
  if (isBeingRemoved(tx, agentId)) throw new AppError('conflict', 'The agent is being deleted')
  requireRunHere(tx, agentId)
  const now = deps.clock.now()
  const statusBefore = findStatusBefore(tx, agentId)
  deps.enqueue(tx, DEPLOY_JOB, { agentId }, { key: deployKey(agentId) })
  // An update leaves a running agent alone until its image is pulled.
  const mayRunOn = operation.kind === 'update' ? ne(agents.status, 'running') : undefined
  tx.update(agents)
    .set({ status: 'provisioning', updatedAt: now })
    .where(and(eq(agents.id, agentId), mayRunOn))
    .run()
  const start = { step: 'queued', error: null, detail: null, requestedAt: now, finishedAt: null } as const
  tx.insert(deployments)
    .values({ agentId, ...start })
    .onConflictDoUpdate({ target: deployments.agentId, set: start })
    .run()
  const waiting = findWaiting(tx, agentId, operation)
  if (waiting) return waiting.id
  forgetOldest(tx, agentId)
  return tx
    .insert(deploymentHistory)
    .values({
      ...operation,
      agentId,
      statusBefore,
      step: 'queued',
      requestedAt: now,
      requestId: currentRequestId() ?? null,
    })
    .returning({ id: deploymentHistory.id })
    .get().id
}

/** @throws AppError `conflict` RUNS_ON_MACHINE for an agent that the platform cannot start or stop. */
export function requireRunHere(db: Db, agentId: string): void {
  const agent = db.select({ runtime: agents.runtime }).from(agents).where(eq(agents.id, agentId)).get()
  if (agent?.runtime !== 'machine') return
  throw new AppError('conflict', 'This agent runs on your own machine: start, stop and update it there', {
    code: 'RUNS_ON_MACHINE',
  })
}

/** Returns the oldest unfinished operation of an agent. */
export function findUnfinished(db: Db, agentId: string): OperationRow | null {
  return (
    db
      .select()
      .from(deploymentHistory)
      .where(and(eq(deploymentHistory.agentId, agentId), isNull(deploymentHistory.result)))
      .orderBy(asc(deploymentHistory.id))
      .limit(1)
      .get() ?? null
  )
}

/** Returns whether a newer unfinished operation of the agent exists. */
export function hasNewer(db: Db, operation: OperationRow): boolean {
  const isNewer = and(
    eq(deploymentHistory.agentId, operation.agentId),
    gt(deploymentHistory.id, operation.id),
    isNull(deploymentHistory.result),
  )
  return db.select({ id: deploymentHistory.id }).from(deploymentHistory).where(isNewer).limit(1).get() !== undefined
}

export function findOperation(db: Db, id: number): OperationRow | null {
  return db.select().from(deploymentHistory).where(eq(deploymentHistory.id, id)).get() ?? null
}

/** Lists the operations of an agent, newest first. */
export function listOperations(db: Db, agentId: string): OperationRow[] {
  return db
    .select()
    .from(deploymentHistory)
    .where(eq(deploymentHistory.agentId, agentId))
    .orderBy(desc(deploymentHistory.id))
    .limit(MAX_HISTORY)
    .all()
}

/**
 * Records the progress of an operation. A rollback stays at `restore` until it ends, so that a restarted platform
 * continues the rollback.
 */
export function setStep(
  tx: Tx,
  operation: OperationRow,
  step: OperationStep,
  change: Partial<Pick<OperationRow, 'error' | 'logTail' | 'snapshot' | 'startedAt'>> = {},
): void {
  tx.update(deploymentHistory)
    .set({
      ...change,
      ...(change.logTail && { logTail: change.logTail.slice(-MAX_LOG_CHARACTERS) }),
      step: operation.step === 'restore' ? 'restore' : step,
    })
    .where(eq(deploymentHistory.id, operation.id))
    .run()
  showDeployment(tx, operation.agentId, { step: SHOWN_STEPS[step], detail: step })
}

/** Ends an operation; clients see its result together with the transaction's other changes. */
export function endOperation(
  tx: Tx,
  operation: OperationRow,
  end: { result: NonNullable<OperationRow['result']>; error: string | null; logTail?: string | null },
  now: Date,
): void {
  const logTail = end.logTail?.slice(-MAX_LOG_CHARACTERS)
  tx.update(deploymentHistory)
    .set({ result: end.result, error: end.error, step: 'done', finishedAt: now, ...(logTail && { logTail }) })
    .where(eq(deploymentHistory.id, operation.id))
    .run()
}

/** Returns a failure without the output at its end. */
export function withoutOutput(reason: string | null): string | null {
  return reason?.split(OUTPUT_FOLLOWS)[0] ?? null
}

/** Describes a rolled-back operation, for its response and the agent's row. */
export function describeRollback(operation: Pick<OperationRow, 'kind' | 'error' | 'previousImage'>): string {
  const { kind, previousImage } = operation
  const error = withoutOutput(operation.error)
  if (kind === 'restore-snapshot')
    return `${error ?? 'The snapshot does not run'}. The agent runs with what it had before`
  return `${error ?? 'The update failed'}. The agent went back, and runs on ${previousImage ?? 'its version'} again`
}

/** Changes the visible progress of an agent's deployment. */
export function showDeployment(tx: Tx, agentId: string, change: Partial<DeploymentRow>): void {
  tx.update(deployments).set(change).where(eq(deployments.agentId, agentId)).run()
}

const SHOWN_STEPS: Readonly<Record<OperationStep, DeploymentRow['step']>> = {
  queued: 'queued',
  pull: 'starting',
  stop: 'starting',
  snapshot: 'starting',
  replace: 'starting',
  port: 'port',
  starting: 'starting',
  health: 'health',
  reset: 'health',
  restore: 'starting',
  done: 'running',
}

/** Returns the agent's status before its pending operations. */
function findStatusBefore(tx: Tx, agentId: string): OperationRow['statusBefore'] {
  const agent = tx.select({ status: agents.status }).from(agents).where(eq(agents.id, agentId)).get()
  const status = agent?.status ?? 'pending'
  return status === 'provisioning' ? (findUnfinished(tx, agentId)?.statusBefore ?? status) : status
}

function findWaiting(tx: Tx, agentId: string, { kind, image, source }: NewOperation): { id: number } | undefined {
  const isSame = and(
    eq(deploymentHistory.agentId, agentId),
    eq(deploymentHistory.kind, kind),
    eq(deploymentHistory.step, 'queued'),
    image ? eq(deploymentHistory.image, image) : isNull(deploymentHistory.image),
    source ? eq(deploymentHistory.source, source) : isNull(deploymentHistory.source),
    isNull(deploymentHistory.startedAt),
    isNull(deploymentHistory.result),
  )
  return tx.select({ id: deploymentHistory.id }).from(deploymentHistory).where(isSame).get()
}

function forgetOldest(tx: Tx, agentId: string): void {
  const condition = eq(deploymentHistory.agentId, agentId)
  // One less than the limit, because the caller inserts another.
  const isOld = beyondNewest(tx, { condition, newest: deploymentHistory.id, count: MAX_HISTORY - 1 })
  if (!isOld) return
  tx.delete(deploymentHistory)
    .where(and(isOld, isNotNull(deploymentHistory.result)))
    .run()
}

/**
 * A lock per agent for work that changes its process or container: operations, repairs and reconciliation. In memory,
 * because only one server uses a database.
 */
export type AgentLocks = {
  /** Runs `work` after all earlier work for this agent. */
  run<T>(agentId: string, work: () => Promise<T>): Promise<T>
  /** Returns whether work for this agent runs or waits. */
  isLocked(agentId: string): boolean
}

export function createAgentLocks(): AgentLocks {
  const last = new Map<string, Promise<unknown>>()
  return {
    async run(agentId, work) {
      const before = last.get(agentId)
      const mine = (before ?? Promise.resolve()).then(work, work)
      last.set(agentId, mine)
      try {
        return await mine
      } finally {
        if (last.get(agentId) === mine) last.delete(agentId)
      }
    },
    isLocked: (agentId) => last.has(agentId),
  }
}
