import { eq } from 'drizzle-orm'
import { errorMessage } from '../../core/errors.ts'
import { write } from '../../db/write.ts'
import { type AgentRow, agents } from '../agents/tables.ts'
import { endIfUnwanted, markFailed, type RunDeps } from './run.ts'
import { toSpec } from './spec.ts'

/**
 * Makes the runtime agree with the rows that say `running`: adopts what runs, starts what does not, and hands out our
 * address when it has changed. An agent that ended for good (bad configuration) is marked; an engine that does not
 * answer changes no status.
 */
export async function reconcileAgents(deps: RunDeps): Promise<void> {
  const running = deps.db.select().from(agents).where(eq(agents.status, 'running')).all()
  await Promise.all(running.map((agent) => reconcile(deps, agent)))
}

async function reconcile(deps: RunDeps, agent: AgentRow): Promise<void> {
  if (agent.port === null) return
  try {
    const inspection = await deps.runtime.inspect(agent.id)
    if (inspection?.state === 'exited') {
      await write(deps.db, (tx) =>
        markFailed(tx, agent.id, 'The agent ended with a configuration error', deps.clock.now()),
      )
      return
    }
    if (inspection?.state === 'restarting') return
    await deps.runtime.deploy(toSpec(deps, agent, agent.port))
    await endIfUnwanted(deps, agent.id)
  } catch (error) {
    deps.log.error({ agent: agent.id, error: errorMessage(error) }, 'cannot bring an agent back')
  }
}
