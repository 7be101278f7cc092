import { eq } from 'drizzle-orm'
import type { Runtime } from '../../adapters/runtime.ts'
import { AppError } from '../../core/errors.ts'
import type { Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { Principal } from '../../http/env.ts'
import { getAgent } from '../agents/list.ts'
import { type AgentRow, agents } from '../agents/tables.ts'
import { enqueueDeployment, type RequestDeps, waitForDeployment } from './request.ts'

export type LifecycleDeps = RequestDeps & { runtime: Runtime }

/**
 * Starts an agent that is not running, which is a deployment; fine when it runs.
 * @throws AppError `not_found`, or `internal` with the reason why it did not start.
 */
export async function startAgent(deps: LifecycleDeps, principal: Principal, id: string): Promise<AgentRow> {
  const agent = getAgent(deps.db, principal, id)
  if (agent.status === 'running') return agent
  await write(deps.db, (tx) => enqueueDeployment(deps, tx, id))
  return waitForDeployment(deps, principal, id)
}

/**
 * Stops an agent and keeps its data; fine when it is stopped. The intent is written first: a crash in between ends with
 * a stopped agent, not with one that comes back.
 * @throws AppError `not_found`, or what the runtime says when it cannot.
 */
export async function stopAgent(deps: LifecycleDeps, principal: Principal, id: string): Promise<AgentRow> {
  const before = getAgent(deps.db, principal, id)
  const stopped = await write(deps.db, (tx) => setStatus(tx, id, 'stopped', deps.clock.now()))
  try {
    await stopIfDeployed(deps.runtime, id)
  } catch (error) {
    await write(deps.db, (tx) => setStatus(tx, id, before.status, deps.clock.now()))
    throw error
  }
  return stopped
}

/** Stop and start. @throws AppError as both. */
export async function restartAgent(deps: LifecycleDeps, principal: Principal, id: string): Promise<AgentRow> {
  getAgent(deps.db, principal, id)
  await stopIfDeployed(deps.runtime, id)
  await write(deps.db, (tx) => enqueueDeployment(deps, tx, id))
  return waitForDeployment(deps, principal, id)
}

async function stopIfDeployed(runtime: Runtime, id: string): Promise<void> {
  if (await runtime.inspect(id)) await runtime.stop(id)
}

function setStatus(tx: Tx, id: string, status: AgentRow['status'], now: Date): AgentRow {
  const row = tx.update(agents).set({ status, updatedAt: now }).where(eq(agents.id, id)).returning().get()
  if (!row) throw new AppError('not_found', 'Agent not found')
  return row
}
