import { and, eq, inArray, lte, notExists, sql } from 'drizzle-orm'
import { errorMessage } from '../../core/errors.ts'
import { write } from '../../db/write.ts'
import type { Enqueue } from '../../jobs/queue.ts'
import { jobs } from '../../jobs/tables.ts'
import { type AgentRow, agents } from '../agents/tables.ts'
import { deployKey, enqueueDeployment } from './request.ts'
import { endIfUnwanted, markFailed, type RunDeps } from './run.ts'
import { toSpec } from './spec.ts'

export type ReconcileDeps = RunDeps & { enqueue: Enqueue }

/** Between the row of a new agent and the job that deploys it lies one call to the backend, which takes much less. */
const FORGOTTEN_MS = 60_000

/**
 * Makes the runtime agree with the rows. `running`: adopts what runs, starts what does not, and hands out our address when
 * it has changed; an agent that ended for good (bad configuration) is marked. `stopped`: ends what a crash left running.
 * `provisioning`: asks again for a deployment that a crash kept from being asked for. An engine that does not answer
 * changes no status.
 */
export async function reconcileAgents(deps: ReconcileDeps): Promise<void> {
  await resumeForgotten(deps)
  const settled = deps.db
    .select()
    .from(agents)
    .where(inArray(agents.status, ['running', 'stopped']))
    .all()
  await Promise.all(settled.map((agent) => reconcile(deps, agent)))
}

/** Rows that wait for a deployment while no job is about to make one. */
async function resumeForgotten(deps: ReconcileDeps): Promise<void> {
  const since = new Date(deps.clock.now().getTime() - FORGOTTEN_MS)
  const unfinished = deps.db
    .select({ id: jobs.id })
    .from(jobs)
    .where(eq(jobs.key, sql`${deployKey('')} || ${agents.id}`))
  const isForgotten = and(eq(agents.status, 'provisioning'), lte(agents.updatedAt, since), notExists(unfinished))
  if (!deps.db.select({ id: agents.id }).from(agents).where(isForgotten).limit(1).get()) return
  await write(deps.db, (tx) => {
    const forgotten = tx.select({ id: agents.id }).from(agents).where(isForgotten).all()
    for (const { id } of forgotten) enqueueDeployment(deps, tx, id)
  })
}

async function reconcile(deps: RunDeps, agent: AgentRow): Promise<void> {
  try {
    if (agent.status === 'running') await keepRunning(deps, agent)
    await endIfUnwanted(deps, agent.id)
  } catch (error) {
    deps.log.error({ agent: agent.id, error: errorMessage(error) }, 'cannot bring an agent to what its row says')
  }
}

async function keepRunning(deps: RunDeps, agent: AgentRow): Promise<void> {
  if (agent.port === null) return
  const inspection = await deps.runtime.inspect(agent.id)
  if (inspection?.state === 'exited') {
    await write(deps.db, (tx) =>
      markFailed(tx, agent.id, 'The agent ended with a configuration error', deps.clock.now()),
    )
  } else if (inspection?.state !== 'restarting') {
    await deps.runtime.deploy(toSpec(deps, agent, agent.port))
  }
}
