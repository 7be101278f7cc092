import { eq } from 'drizzle-orm'
import { BAD_CONFIGURATION_EXIT, type Inspection } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { pause } from '../../../jobs/runner.ts'
import { type HealthDeps, toEndpoint } from '../deployments/health.ts'
import { markDown, markUp } from '../registry/down.ts'
import { watchAgentEvents } from '../registry/events.ts'
import { type AgentRow, agents } from '../registry/tables.ts'

export type FollowDownsDeps = HealthDeps & { db: Db; clock: Clock; log: Log; runtimes: Runtimes }

/** Agents that are looked at together when the platform starts. */
const AT_ONCE = 8
const FIRST_PAUSE_MS = 50
/** How often an agent that is down is looked at. */
const LONGEST_PAUSE_MS = 2000

/**
 * Notes for owners which of the agents that should run are down, from the moment at which a runtime tells of it until they
 * answer again, for as long as `signal` lets it. What is done about it is the runtime's and the watchdog's business.
 */
export async function followDowns(deps: FollowDownsDeps, signal: AbortSignal): Promise<void> {
  const following = new Map<string, Promise<void>>()
  const again = new Set<string>()
  const follow = (agentId: string) => {
    // What happens during a look may come too late for it.
    if (following.has(agentId)) return void again.add(agentId)
    const done = followAgent(deps, agentId, signal)
      .catch((error) => deps.log.warn({ agent: agentId, error: errorMessage(error) }, 'cannot tell whether it is down'))
      .finally(() => {
        following.delete(agentId)
        if (again.delete(agentId)) follow(agentId)
      })
    following.set(agentId, done)
  }
  const events = watchAgentEvents(deps, signal)
  const hearing = (async () => {
    for await (const { id } of events) follow(id)
  })()
  await followAll(deps, follow, following, signal)
  await hearing
  await Promise.all(following.values())
}

/** Whatever happened while nobody listened. */
async function followAll(
  { db }: FollowDownsDeps,
  follow: (agentId: string) => void,
  following: ReadonlyMap<string, Promise<void>>,
  signal: AbortSignal,
): Promise<void> {
  const wanted = db.select({ id: agents.id }).from(agents).where(eq(agents.status, 'running')).all()
  for (const agent of wanted) {
    if (signal.aborted) return
    while (following.size >= AT_ONCE) await Promise.race(following.values())
    follow(agent.id)
  }
}

/** Until the agent answers, or should not run any more, or nobody can say how it is. */
async function followAgent(deps: FollowDownsDeps, agentId: string, signal: AbortSignal): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const agent = deps.db.select().from(agents).where(eq(agents.id, agentId)).get()
    if (agent?.status !== 'running') return
    const state = await checkLiveness(deps, agent)
    if (state === 'unknown') return
    if (state === 'up') return write(deps.db, (tx) => markUp(tx, agentId))
    // One that has a process and was not seen down is perhaps slow: the watchdog finds out.
    if (state === 'silent' && agent.downAt === null) return
    if (state !== 'silent') await write(deps.db, (tx) => markDown(tx, agentId, state.reason, deps.clock.now()))
    await pause(pauseMs, signal)
  }
}

type Liveness = 'up' | 'silent' | 'unknown' | { reason: string }

async function checkLiveness(deps: FollowDownsDeps, agent: AgentRow): Promise<Liveness> {
  try {
    const inspection = await deps.runtimes.of(agent).inspect(agent.id)
    if (inspection?.state !== 'running') return { reason: describeEnd(inspection) }
    return (await deps.gateway.isLive(toEndpoint(deps.sealer, agent, inspection))) ? 'up' : 'silent'
  } catch (error) {
    if (error instanceof AppError) return 'unknown'
    throw error
  }
}

function describeEnd(inspection: Inspection | null): string {
  if (!inspection) return 'It is not there: its runtime does not know it'
  const { state, exitCode, isOutOfMemory } = inspection
  if (isOutOfMemory) return 'It needed more memory than it has, and was ended'
  if (exitCode === BAD_CONFIGURATION_EXIT) return `It ended with a configuration error (exit code ${exitCode})`
  const end = exitCode === null ? 'It ended' : `It ended with exit code ${exitCode}`
  return state === 'restarting' ? `${end}, and is being started again` : end
}
