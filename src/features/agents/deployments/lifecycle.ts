import { eq } from 'drizzle-orm'
import type { Objects } from '../../../adapters/objects/objects.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import { toRepository } from '../../../core/text/names.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import type { Base } from '../../base.ts'
import { type ImageDeps, requireImage } from '../operations/images.ts'
import {
  findOperation,
  findUnfinished,
  hasNewer,
  listOperations,
  requestOperation,
  requireRunHere,
  toRequester,
  withoutOutput,
} from '../operations/operations.ts'
import type { OperationRow } from '../operations/tables.ts'
import { getAgent, logAgentChange } from '../registry/agents.ts'
import { toShownStatus } from '../registry/status.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { findSnapshotName, toBackupPath } from '../snapshots/snapshots.ts'
import { joinOrRequest, waitForOperation } from './request.ts'
import type { Deployment } from './schemas.ts'
import { imageOf } from './spec.ts'
import { stopIfDeployed } from './start.ts'

export type LifecycleDeps = Base & {
  imageRules: ImageDeps['imageRules']
  findUser: ImageDeps['findUser']
  runtimes: Pick<Runtimes, 'runtimeOf' | 'choose'>
}

/** Pulling an image and rolling back take longer than a start; requests time out after 180 s. */
const LONG_WAIT_MS = 170_000

const NO_IMAGES =
  'Images do not apply to agents that run as processes: the agent was restarted on the version of this program'

/** Outcome of an update. Images are null for process agents; `previousImage` also before a first deployment. */
type UpdateOutcome = {
  agent: AgentRow
  image: string | null
  previousImage: string | null
  backupPath: string | null
  /** Why the requested image was not used. */
  message?: string
}

/**
 * Starts an agent that does not run or is down, by deploying it. A running agent is left alone.
 * @throws AppError `not_found`, or `internal` with the reason why it did not start.
 */
export async function startAgent(deps: LifecycleDeps, principal: Principal, id: string): Promise<AgentRow> {
  const agent = getAgent(deps.db, principal, id)
  if (toShownStatus(agent) === 'running') return agent
  const operation = { kind: 'start', requestedBy: toRequester(principal) } as const
  const operationId = await write(deps.db, (tx) => joinOrRequest(deps, tx, id, operation))
  return waitForOperation(deps, principal, id, { id: operationId })
}

/**
 * Stops an agent and keeps its data. The status is written first, so a crash in between still ends with a stopped
 * agent.
 * @throws AppError `not_found`, or `internal` or `unavailable` as the runtime.
 */
export async function stopAgent(deps: LifecycleDeps, principal: Principal, id: string): Promise<AgentRow> {
  const before = getAgent(deps.db, principal, id)
  requireRunHere(deps.db, id)
  const stopped = await write(deps.db, (tx) =>
    setStatus(tx, id, { status: 'stopped', lastError: null }, deps.clock.now()),
  )
  try {
    await stopIfDeployed(deps.runtimes.runtimeOf(before), id)
  } catch (error) {
    const { status, lastError } = before
    await write(deps.db, (tx) => setStatus(tx, id, { status, lastError }, deps.clock.now()))
    throw error instanceof AppError && error.kind !== 'unavailable'
      ? new AppError('internal', error.message, {}, { cause: error })
      : error
  }
  logAgentChange(deps.log, principal, id, 'stopped')
  return stopped
}

/** Restarts an agent. @throws AppError `not_found`, or `internal` with the reason why it did not start. */
export async function restartAgent(deps: LifecycleDeps, principal: Principal, id: string): Promise<AgentRow> {
  const operationId = await request(deps, principal, id, 'restart')
  return waitForOperation(deps, principal, id, { id: operationId })
}

/**
 * Kills the agent, lets its program repair its own state, and starts it again.
 * @throws AppError `not_found`, or `internal` when it is not healthy afterwards.
 */
export async function repairUserAgent(deps: LifecycleDeps, principal: Principal, id: string): Promise<AgentRow> {
  const operationId = await request(deps, principal, id, 'repair')
  return waitForOperation(deps, principal, id, { id: operationId, waitMs: LONG_WAIT_MS })
}

/**
 * Clears the agent's memory after taking a snapshot.
 * @throws AppError `not_found`, or `internal` with the reason why it could not.
 */
export async function resetAgentMemory(deps: LifecycleDeps, principal: Principal, id: string): Promise<AgentRow> {
  const operationId = await request(deps, principal, id, 'reset-memory')
  return waitForOperation(deps, principal, id, { id: operationId, waitMs: LONG_WAIT_MS })
}

/**
 * Updates the agent to `image`, by default to the platform's image of the same repository, and restarts it when it has
 * that image already. The agent runs on the old image again when the new one is not healthy.
 * @throws AppError `not_found`, `invalid` for an image that is not allowed, not found or no agent, or `internal` with
 * the reason why the new image does not run.
 */
export async function updateUserAgent(
  deps: LifecycleDeps,
  principal: Principal,
  id: string,
  wanted: string | undefined,
): Promise<UpdateOutcome> {
  const requestedBy = toRequester(principal)
  // The first deployment chooses the runtime, so a new agent has none yet.
  const name = getAgent(deps.db, principal, id).runtime ?? (await deps.runtimes.choose())
  const runtime = deps.runtimes.runtimeOf({ runtime: name })
  const hasImages = runtime.name !== 'process'
  if (wanted !== undefined && hasImages) await requireImage({ ...deps, runtime }, principal, wanted)
  const operationId = await write(deps.db, (tx) => {
    const agent = getAgent(tx, principal, id)
    const previousImage = agent.port === null ? null : imageOf(deps, agent)
    const image = hasImages ? (wanted ?? newestOf(previousImage ?? deps.imageRules.image, deps.imageRules.image)) : null
    return requestOperation(deps, tx, id, { kind: 'update', requestedBy, image, previousImage })
  })
  const agent = await waitForOperation(deps, principal, id, { id: operationId, waitMs: LONG_WAIT_MS })
  const done = findOperation(deps.db, operationId)
  return {
    agent,
    image: done?.image ?? null,
    previousImage: done?.previousImage ?? null,
    backupPath: toBackupPath(id, done?.snapshot ?? null),
    ...(wanted !== undefined && !hasImages && { message: NO_IMAGES }),
  }
}

/**
 * Restores an agent's state from a snapshot after taking a snapshot of the present state. A repeated request joins the
 * pending one. The agent runs on its earlier state again when it is not healthy with the restored one.
 * @throws AppError `not_found` for the agent or the snapshot, or `internal` with the reason why it does not run.
 */
export async function restoreSnapshot(
  deps: LifecycleDeps & { objects: Objects },
  principal: Principal,
  id: string,
  snapshotId: string,
): Promise<{ agent: AgentRow; backupPath: string | null }> {
  const source = await findSnapshotName(deps, getAgent(deps.db, principal, id).id, snapshotId)
  const requestedBy = toRequester(principal)
  const operationId = await write(deps.db, (tx) => {
    getAgent(tx, principal, id)
    const underWay = findUnfinished(tx, id)
    if (underWay?.source === source && !hasNewer(tx, underWay)) return underWay.id
    recordAudit(tx, { actor: requestedBy, action: 'agent.restore-snapshot', target: id }, deps.clock.now())
    return requestOperation(deps, tx, id, { kind: 'restore-snapshot', requestedBy, source })
  })
  const agent = await waitForOperation(deps, principal, id, { id: operationId, waitMs: LONG_WAIT_MS })
  return { agent, backupPath: toBackupPath(id, findOperation(deps.db, operationId)?.snapshot ?? null) }
}

/**
 * Returns the platform's image if `image` is another version of it; otherwise returns `image`, because an update never
 * changes the program.
 */
function newestOf(image: string, platformImage: string): string {
  return toRepository(platformImage) === toRepository(image) ? platformImage : image
}

async function request(
  deps: LifecycleDeps,
  principal: Principal,
  id: string,
  kind: 'restart' | 'repair' | 'reset-memory',
): Promise<number> {
  return write(deps.db, (tx) => {
    getAgent(tx, principal, id)
    return requestOperation(deps, tx, id, { kind, requestedBy: toRequester(principal) })
  })
}

function setStatus(tx: Tx, id: string, change: Pick<AgentRow, 'status' | 'lastError'>, now: Date): AgentRow {
  const row = tx
    .update(agents)
    .set({ ...change, updatedAt: now })
    .where(eq(agents.id, id))
    .returning()
    .get()
  if (!row) throw new AppError('not_found', 'Agent not found')
  return row
}

/**
 * Lists the operations of an agent, newest first. A rollback is an update to the `previousImage` of one.
 * @throws AppError `not_found` for a missing or foreign agent.
 */
export function listDeployments(db: Db, principal: Principal, agentId: string): Deployment[] {
  return listOperations(db, getAgent(db, principal, agentId).id).map(toDeployment)
}

function toDeployment(row: OperationRow): Deployment {
  return {
    id: row.id,
    kind: row.kind,
    requestedBy: row.requestedBy,
    step: row.step,
    result: row.result,
    image: row.image,
    previousImage: row.previousImage,
    reason: withoutOutput(row.error),
    logTail: row.logTail,
    backupPath: toBackupPath(row.agentId, row.snapshot),
    requestedAt: row.requestedAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
    durationMs: row.finishedAt && row.finishedAt.getTime() - (row.startedAt ?? row.requestedAt).getTime(),
  }
}
