import { eq } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { Principal } from '../../http/env.ts'
import type { Enqueue } from '../../jobs/queue.ts'
import { pause } from '../../jobs/runner.ts'
import { jobs } from '../../jobs/tables.ts'
import { users } from '../accounts/tables.ts'
import { type CreateDeps, DEFAULT_PLAN, insertAgent } from '../agents/create.ts'
import { removeKey } from '../agents/delete.ts'
import { findAgent, getAgent } from '../agents/list.ts'
import { type AgentRow, agents } from '../agents/tables.ts'
import type { DeploymentRequest } from './schemas.ts'
import { type DeploymentRow, deployments } from './tables.ts'

export const DEPLOY_JOB = 'agents.deploy'
/** Below the 15 s that callers wait (Spec 8). */
const WAIT_MS = 14_000
const POLL_MS = 25

export type RequestDeps = CreateDeps & { db: Db; clock: Clock; enqueue: Enqueue }

/** What became of a deployment when the waiting ended. `wasRunning`: there was nothing to do. */
export type DeploymentOutcome = { agent: AgentRow; wasRunning: boolean }

/**
 * Asks for a deployment and waits for its end, at most 14 s; afterwards it goes on in the queue (rulings, 38).
 * An agent without a row gets one for `principal`, or for `request.userId` when the operator asks.
 * @throws AppError `not_found` for someone else's agent, `conflict` while a deleted one of this id is being removed,
 * `internal` with the reason when the deployment failed.
 */
export async function deployAgent(
  deps: RequestDeps,
  principal: Principal,
  request: DeploymentRequest,
): Promise<DeploymentOutcome> {
  const known = findAgent(deps.db, principal, request.agentId)
  if (known?.status === 'running') return { agent: known, wasRunning: true }
  await write(deps.db, (tx) => {
    ensureAgent(deps, tx, principal, request)
    enqueueDeployment(deps, tx, request.agentId)
  })
  return { agent: await waitForDeployment(deps, principal, request.agentId), wasRunning: false }
}

/** The key of an agent's deployment job, which only an unfinished one has. */
export function deployKey(agentId: string): string {
  return `deploy:${agentId}`
}

/** Writes the intent and its job in the caller's closure: a crash from here on loses nothing. */
export function enqueueDeployment(deps: { clock: Clock; enqueue: Enqueue }, tx: Tx, agentId: string): void {
  const now = deps.clock.now()
  const start = { step: 'queued', error: null, requestedAt: now, finishedAt: null } as const
  tx.insert(deployments)
    .values({ agentId, ...start })
    .onConflictDoUpdate({ target: deployments.agentId, set: start })
    .run()
  tx.update(agents).set({ status: 'provisioning', updatedAt: now }).where(eq(agents.id, agentId)).run()
  deps.enqueue(tx, DEPLOY_JOB, { agentId }, { key: deployKey(agentId) })
}

/** @throws AppError `internal` with the reason when the deployment failed. */
export async function waitForDeployment(deps: { db: Db }, principal: Principal, agentId: string): Promise<AgentRow> {
  const deadline = performance.now() + WAIT_MS
  const never = new AbortController().signal
  for (;;) {
    const deployment = findDeployment(deps.db, agentId)
    if (deployment?.step === 'failed') throw new AppError('internal', deployment.error ?? 'Deployment failed')
    if (!deployment || deployment.step === 'running' || performance.now() > deadline)
      return getAgent(deps.db, principal, agentId)
    await pause(POLL_MS, never)
  }
}

export function findDeployment(db: Db, agentId: string): DeploymentRow | null {
  return db.select().from(deployments).where(eq(deployments.agentId, agentId)).get() ?? null
}

function ensureAgent(deps: RequestDeps, tx: Tx, principal: Principal, request: DeploymentRequest): void {
  if (findAgent(tx, principal, request.agentId)) return
  const isTaken = tx.select({ id: agents.id }).from(agents).where(eq(agents.id, request.agentId)).get() !== undefined
  if (isTaken) throw new AppError('not_found', 'Agent not found')
  // Its removal would end this one as well, and until then its folder is there for this one to read.
  const removal = tx
    .select({ id: jobs.id })
    .from(jobs)
    .where(eq(jobs.key, removeKey(request.agentId)))
    .get()
  if (removal) throw new AppError('conflict', 'A deleted agent of this id is still being removed')
  insertAgent(deps, tx, {
    id: request.agentId,
    ownerId: principal.kind === 'user' ? principal.user.id : findOwner(tx, request.userId),
    name: request.name ?? request.agentId,
    model: request.config.model ?? 'default',
    plan: request.config.plan ?? DEFAULT_PLAN,
    aiProvider: request.config.aiProvider ?? 'openrouter',
    status: 'provisioning',
  })
}

function findOwner(tx: Tx, userId: string | undefined): string | null {
  if (userId === undefined) return null
  const owner = tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).get()
  if (!owner) throw new AppError('not_found', 'User not found')
  return owner.id
}
