import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { RUNTIMES, type RuntimeName } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import { deleteDependents } from '../../../db/delete-dependents.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { jobs } from '../../../jobs/tables.ts'
import { type AgentTurns, REMOVE_JOB, removeKey } from '../operations/operations.ts'
import { findAgent, findAgentRow, logAgentChange } from '../registry/agents.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { removeSnapshots } from '../snapshots/snapshots.ts'
import { discardSnapshots, type TrashDeps } from '../snapshots/trash.ts'

export type RemovalDeps = TrashDeps & { db: Db; runtimes: Runtimes; agentTurns: AgentTurns }
export type DeleteDeps = RemovalDeps & { enqueue: Enqueue }

/** What ran for an agent: its row may be gone. Jobs of before agents had runtimes of their own do not name one. */
export const Removal = z.object({ agentId: z.string(), runtime: z.enum(RUNTIMES).nullish() })
export type Removal = z.infer<typeof Removal>

/** Whoever deletes an agent removes what it has; when they do not come to an end, the job does after this time. */
const TAKE_OVER_MS = 60_000

/**
 * Deletes an agent: what runs for it is ended, what it has stored removed, its snapshots are put aside for a week, and then
 * its row goes. Nothing happens while its
 * engine does not answer; one that goes away in between leaves the agent stopped, and it is deleted when the engine is back.
 * Foreign and missing ids do nothing (decisions, 10).
 * @throws AppError with the reason why the agent is still there.
 */
export async function deleteAgent(deps: DeleteDeps, principal: Principal, id: string): Promise<void> {
  const agent = findAgent(deps.db, principal, id)
  if (!agent) return
  await requireAnswer(deps, agent)
  await write(deps.db, (tx) => {
    const stopped = { status: 'stopped', lastError: null, updatedAt: deps.clock.now() } as const
    tx.update(agents).set(stopped).where(eq(agents.id, id)).run()
    enqueueRemoval(deps, tx, agent, TAKE_OVER_MS)
  })
  try {
    await finishDeletion(deps, { agentId: id, runtime: agent.runtime })
    logAgentChange(deps.log, principal, id, 'deleted')
  } catch (error) {
    throw explain(error, 'the agent is deleted as soon as that is possible')
  }
}

/** Asks for the removal of what runs for an agent whose row goes, in the caller's closure. */
export function enqueueRemoval(
  { enqueue }: { enqueue: Enqueue },
  tx: Tx,
  { id, runtime }: { id: string; runtime: RuntimeName | null },
  delayMs = 0,
): void {
  enqueue(tx, REMOVE_JOB, { agentId: id, runtime } satisfies Removal, { key: removeKey(id), delayMs })
}

/** Ends and removes what runs for a deleted agent, and its row when it still has one. @throws AppError of the runtime. */
export async function finishDeletion(deps: RemovalDeps, { agentId, runtime }: Removal): Promise<void> {
  await deps.agentTurns.take(agentId, async () => {
    // One that was deployed for the first time meanwhile has a runtime since.
    const row = findAgentRow(deps.db, agentId)
    if (!row || wasDeployed(row)) await removeEverywhere(deps.runtimes, agentId, row ? row.runtime : runtime)
    // Without a row its account was deleted with it.
    await (row ? discardSnapshots(deps, row) : removeSnapshots(deps, agentId))
    // What was said and logged, some rows at a time: the row itself goes quickly then.
    await deleteDependents(deps.db, agents, agentId)
    await write(deps.db, (tx) => {
      tx.delete(agents).where(eq(agents.id, agentId)).run()
      // The one that waits has nothing left to do; one that runs ends by itself.
      tx.delete(jobs)
        .where(and(eq(jobs.key, removeKey(agentId)), eq(jobs.status, 'queued')))
        .run()
    })
  })
}

/** From its own runtime, and from others that have something of its name and can be asked. */
async function removeEverywhere(runtimes: Runtimes, agentId: string, own: RuntimeName | null | undefined) {
  const home = own === undefined ? null : runtimes.runtimeOf({ runtime: own })
  await home?.remove(agentId)
  for (const other of runtimes.listOpen()) {
    if (other !== home && (home === null || (await other.isAvailable()))) await other.remove(agentId)
  }
}

async function requireAnswer({ runtimes }: DeleteDeps, agent: AgentRow): Promise<void> {
  if (!wasDeployed(agent)) return
  try {
    await runtimes.runtimeOf(agent).inspect(agent.id)
  } catch (error) {
    throw explain(error, 'the agent was not deleted')
  }
}

/** A port is leased before anything runs. */
function wasDeployed({ port }: AgentRow): boolean {
  return port !== null
}

function explain(error: unknown, consequence: string): unknown {
  if (!(error instanceof AppError)) return error
  return new AppError(error.kind, `${error.message}: ${consequence}`, error.extra, { cause: error })
}
