import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { RUNTIMES, type RuntimeName } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import { deleteDependents } from '../../../db/in-batches.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { jobs } from '../../../jobs/tables.ts'
import { removeKeptStates } from '../kept-states/kept-states.ts'
import { type AgentLocks, REMOVE_JOB, removeKey } from '../operations/operations.ts'
import { findAgent, findAgentRow, logAgentChange } from '../registry/agents.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { removeSnapshots } from '../snapshots/snapshots.ts'
import { discardSnapshots, type TrashDeps } from '../snapshots/trash.ts'

/** A removal job. `runtime` is missing for a row without one. */
export const Removal = z.object({ agentId: z.string(), runtime: z.enum(RUNTIMES).nullish() })
export type Removal = z.infer<typeof Removal>

export type DeletionDeps = TrashDeps & {
  runtimes: Runtimes
  agentLocks: AgentLocks
  /** Queues the revocation of a deleted agent's tokens at other services. */
  revokeAccess: (tx: Tx, agentId: string) => void
}

/** Delay after which the job finishes a deletion that its request did not. */
const TAKE_OVER_MS = 60_000

/**
 * Deletes an agent: ends its process or container, removes its data, keeps its snapshots for a week, and deletes its
 * row.
 * Nothing happens while its engine does not respond; when the engine fails halfway, the agent stays stopped and a job
 * finishes the deletion later. Foreign and missing ids are ignored.
 * @throws AppError with the reason why the agent still exists.
 */
export async function deleteAgent(deps: DeletionDeps, principal: Principal, id: string): Promise<void> {
  const agent = findAgent(deps.db, principal, id)
  if (!agent) return
  await requireAnswer(deps, agent)
  await write(deps.db, (tx) => {
    const stopped = { status: 'stopped', lastError: null, updatedAt: deps.clock.now() } as const
    tx.update(agents).set(stopped).where(eq(agents.id, id)).run()
    deps.revokeAccess(tx, id)
    enqueueRemoval(deps, tx, agent, TAKE_OVER_MS)
  })
  try {
    await finishDeletion(deps, { agentId: id, runtime: agent.runtime })
    logAgentChange(deps.log, principal, id, 'deleted')
  } catch (error) {
    throw explain(error, 'the agent is deleted as soon as that is possible')
  }
}

/** Requests the removal of an agent's process or container, in the caller's transaction. */
export function enqueueRemoval(
  { enqueue }: { enqueue: Enqueue },
  tx: Tx,
  { id, runtime }: { id: string; runtime: RuntimeName | null },
  delayMs = 0,
): void {
  enqueue(tx, REMOVE_JOB, { agentId: id, runtime } satisfies Removal, { key: removeKey(id), delayMs })
}

/**
 * Removes the container or process of a deleted agent, and its row if it still exists.
 * @throws AppError as the runtime.
 */
export async function finishDeletion(
  deps: TrashDeps & { runtimes: Runtimes; agentLocks: AgentLocks },
  { agentId, runtime }: Removal,
): Promise<void> {
  await deps.agentLocks.run(agentId, async () => {
    // A concurrent first deployment may have set the runtime since the job was queued.
    const row = findAgentRow(deps.db, agentId)
    if (!row || wasDeployed(row)) await removeEverywhere(deps.runtimes, agentId, row ? row.runtime : runtime)
    // An agent without a row was deleted together with its account.
    await (row ? discardSnapshots(deps, row) : removeSnapshots(deps, agentId))
    await removeKeptStates(deps, agentId)
    // Delete messages and logs in batches first, so that deleting the row itself is quick.
    await deleteDependents(deps.db, agents, agentId)
    await write(deps.db, (tx) => {
      tx.delete(agents).where(eq(agents.id, agentId)).run()
      // A queued job is obsolete; a running job ends without help.
      tx.delete(jobs)
        .where(and(eq(jobs.key, removeKey(agentId)), eq(jobs.status, 'queued')))
        .run()
    })
  })
}

/** Removes the agent from its own runtime, and from every other available runtime that knows its id. */
async function removeEverywhere(runtimes: Runtimes, agentId: string, own: RuntimeName | null | undefined) {
  const home = own === undefined ? null : runtimes.runtimeOf({ runtime: own })
  await home?.remove(agentId)
  for (const other of runtimes.listOpen()) {
    if (other !== home && (home === null || (await other.isAvailable()))) await other.remove(agentId)
  }
}

async function requireAnswer({ runtimes }: { runtimes: Runtimes }, agent: AgentRow): Promise<void> {
  if (!wasDeployed(agent)) return
  try {
    await runtimes.runtimeOf(agent).inspect(agent.id)
  } catch (error) {
    throw explain(error, 'the agent was not deleted')
  }
}

/** // A port is leased before the agent starts, so an agent without a port was never deployed. */
function wasDeployed({ port }: AgentRow): boolean {
  return port !== null
}

function explain(error: unknown, consequence: string): unknown {
  if (!(error instanceof AppError)) return error
  return new AppError(error.kind, `${error.message}: ${consequence}`, error.extra, { cause: error })
}
