import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { pause } from '../../../jobs/runner.ts'
import { users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import {
  describeRollback,
  findOperation,
  findUnfinished,
  hasNewer,
  isBeingRemoved,
  type NewOperation,
  requestOperation,
  toRequester,
} from '../operations/operations.ts'
import { type DeploymentRow, deployments, type OperationRow } from '../operations/tables.ts'
import { findAgent, getAgent, insertAgent } from '../registry/agents.ts'
import type { CheckModel, CheckTokens } from '../registry/checks.ts'
import { changeSettings } from '../registry/config.ts'
import { defaultSize, requireAgentQuotaFor, requirePlanOfAgent } from '../registry/limits.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { recordRevision } from '../revisions/record.ts'
import type { DeploymentRequest } from './schemas.ts'

/** Below the 15 s that clients wait. */
const WAIT_MS = 14_000
const POLL_MS = 25

/** Outcome of a deployment request. `wasRunning`: there was nothing to do. */
type DeploymentOutcome = { agent: AgentRow; wasRunning: boolean }

/**
 * Requests a deployment and waits up to 14 s for its end; it continues in the queue afterwards. An unknown agent is
 * created for `principal`, or for `request.userId` when the operator asks.
 * @throws AppError `not_found` for a foreign agent, `conflict` while a deleted agent of this id is being removed,
 * `payment_required` for a size beyond the plan, as `CheckModel` and `CheckTokens`, `limited` {current, limit} at the
 * cap, `internal` with the reason when the deployment failed.
 */
export async function deployAgent(
  deps: Base & { checkTokens: CheckTokens; checkModel: CheckModel },
  principal: Principal,
  request: DeploymentRequest,
): Promise<DeploymentOutcome> {
  const { agentId } = request
  const known = findAgent(deps.db, principal, agentId)
  if (known?.status === 'running') return { agent: known, wasRunning: true }
  if (!known) {
    requirePlanOfAgent(principal, request.config.plan)
    const ownerId = principal.kind === 'user' ? principal.user.id : (request.userId ?? null)
    deps.checkModel(request.config.model, { ownerId, hasOwnKey: Boolean(request.config.apiKey) })
  }
  await deps.checkTokens(request.config, known)
  const id = await write(deps.db, (tx) => {
    ensureAgent(deps, tx, principal, request)
    return joinOrRequest(deps, tx, agentId, { kind: 'deploy', requestedBy: toRequester(principal) })
  })
  return { agent: await waitForOperation(deps, principal, agentId, { id, waitMs: WAIT_MS }), wasRunning: false }
}

/** Requests a deployment on the platform's behalf, in the caller's transaction. @returns the operation's id. */
export function enqueueDeployment(deps: Base, tx: Tx, agentId: string): number {
  return requestOperation(deps, tx, agentId, { kind: 'deploy', requestedBy: 'platform' })
}

/** Returns the pending operation that starts the agent anyway, or requests a new one. */
export function joinOrRequest(deps: Base, tx: Tx, agentId: string, operation: NewOperation): number {
  const underWay = findUnfinished(tx, agentId)
  const isSame = underWay?.kind === 'deploy' || underWay?.kind === 'start' || underWay?.kind === 'restart'
  const isWanted = tx.select({ status: agents.status }).from(agents).where(eq(agents.id, agentId)).get()
  if (underWay && isSame && isWanted?.status === 'provisioning' && !hasNewer(tx, underWay)) return underWay.id
  return requestOperation(deps, tx, agentId, operation)
}

/**
 * Waits for the end of an operation, or of its replacement, at most `waitMs`.
 * @returns the agent afterwards. @throws AppError `internal` with the reason when it failed, {code: 'ROLLED_BACK'} when
 * the agent runs as before, `invalid` when it was refused, `conflict` when the agent was stopped meanwhile.
 */
export async function waitForOperation(
  deps: { db: Db },
  principal: Principal,
  agentId: string,
  { id, waitMs = WAIT_MS }: { id: number; waitMs?: number },
): Promise<AgentRow> {
  const deadline = performance.now() + waitMs
  const never = new AbortController().signal
  for (let awaited = id; ; ) {
    const operation = findOperation(deps.db, awaited)
    if (operation?.result === 'refused') throw new AppError('invalid', operation.error ?? 'This cannot be done')
    if (operation?.result === 'failed') throw new AppError('internal', operation.error ?? 'Deployment failed')
    if (operation?.result === 'rolled-back') throw rolledBack(operation)
    if (operation?.result === 'cancelled') throw new AppError('conflict', 'The agent was stopped')
    const successor = operation?.result === 'replaced' ? findUnfinished(deps.db, agentId) : null
    if (successor) awaited = successor.id
    else if (!operation || operation.result || performance.now() > deadline)
      return getAgent(deps.db, principal, agentId)
    await pause(POLL_MS, never)
  }
}

/** Waits like `waitForOperation`, but returns the agent also when its deployment failed. */
export async function waitForOutcome(
  deps: { db: Db },
  principal: Principal,
  agentId: string,
  id: number,
): Promise<AgentRow> {
  try {
    return await waitForOperation(deps, principal, agentId, { id })
  } catch (error) {
    const isOutcome = error instanceof AppError && (error.kind === 'internal' || error.kind === 'conflict')
    if (!isOutcome) throw error
    return getAgent(deps.db, principal, agentId)
  }
}

function rolledBack(operation: OperationRow): AppError {
  const { image, previousImage } = operation
  return new AppError('internal', describeRollback(operation), {
    code: 'ROLLED_BACK',
    rolledBack: true,
    image,
    previousImage,
  })
}

export function findDeployment(db: Db, agentId: string): DeploymentRow | null {
  return db.select().from(deployments).where(eq(deployments.agentId, agentId)).get() ?? null
}

function ensureAgent(
  deps: { clock: Clock; sealer: Sealer },
  tx: Tx,
  principal: Principal,
  request: DeploymentRequest,
): void {
  const { plan: _plan, model: _model, aiProvider: _aiProvider, ...settings } = request.config
  const known = findAgent(tx, principal, request.agentId)
  const agent = changeSettings(deps, tx, known ?? insertNamed(deps, tx, principal, request), settings)
  recordRevision(deps, tx, agent.id, { author: toRequester(principal) })
}

/** Inserts an agent with the id that the request names. */
function insertNamed(
  deps: { clock: Clock; sealer: Sealer },
  tx: Tx,
  principal: Principal,
  request: DeploymentRequest,
): AgentRow {
  const { plan = defaultSize(principal), model = 'default', aiProvider = 'openrouter' } = request.config
  requireFreeId(tx, request.agentId)
  requireAgentQuotaFor(tx, principal)
  return insertAgent(deps, tx, {
    id: request.agentId,
    ownerId: principal.kind === 'user' ? principal.user.id : findOwner(tx, request.userId),
    name: request.name ?? request.agentId,
    model,
    plan,
    aiProvider,
    status: 'provisioning',
  })
}

function requireFreeId(tx: Tx, agentId: string): void {
  const isTaken = tx.select({ id: agents.id }).from(agents).where(eq(agents.id, agentId)).get() !== undefined
  if (isTaken) throw new AppError('not_found', 'Agent not found')
  // The pending removal would delete the new agent, and its folder still holds the old agent's files.
  if (isBeingRemoved(tx, agentId)) throw new AppError('conflict', 'A deleted agent of this id is still being removed')
}

function findOwner(tx: Tx, userId: string | undefined): string | null {
  if (userId === undefined) return null
  const owner = tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).get()
  if (!owner) throw new AppError('not_found', 'User not found')
  return owner.id
}
