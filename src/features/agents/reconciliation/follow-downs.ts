import { and, eq, isNotNull, type SQL } from 'drizzle-orm'
import { BAD_CONFIGURATION_EXIT, type Inspection } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import { inLanes } from '../../../core/concurrency/in-lanes.ts'
import { orLate } from '../../../core/concurrency/or-late.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { pause } from '../../../jobs/runner.ts'
import { type HealthDeps, toInspectedEndpoint } from '../deployments/health.ts'
import { findAgentRow } from '../registry/agents.ts'
import { markDown, markUp, watchAgentEvents } from '../registry/status.ts'
import { type AgentRow, agents } from '../registry/tables.ts'

export type FollowDownsDeps = HealthDeps & { db: Db; clock: Clock; log: Log; runtimes: Runtimes }

/** Agents that are looked at together in a sweep. */
const AT_ONCE = 8
/** Owners' streams look at rows ten times a second: one that was back at once is shown as down for so long. */
const FIRST_PAUSE_MS = 150
/** How often an agent that is down is looked at. */
const LONGEST_PAUSE_MS = 2000
/** How soon one that is down is looked at again although no runtime tells of it: its engine may not have answered. */
const SWEEP_MS = 5000
/** An answer that comes sooner says more of the end than that there was one. */
const PROMPT_MS = 100
const ENDED = 'It ended'

/**
 * Notes for owners which of the agents that should run are down, from the moment at which a runtime tells of it until they
 * answer again, until `stopping` or until the runtimes tell of nothing more. What is done about it is the runtime's and the
 * watchdog's business.
 * @throws what the events of the runtimes throw.
 */
export async function followDowns(
  deps: FollowDownsDeps,
  stopping: AbortSignal,
  { sweepMs = SWEEP_MS } = {},
): Promise<void> {
  const ending = new AbortController()
  const signal = AbortSignal.any([stopping, ending.signal])
  const following = new Map<string, Promise<void>>()
  const again = new Map<string, { hasDied: boolean }>()
  /** Resolves after its first look. */
  const follow = (agentId: string, hasDied: boolean): Promise<void> => {
    if (following.has(agentId)) {
      // What happens during a look may come too late for it.
      again.set(agentId, { hasDied: hasDied || again.get(agentId)?.hasDied === true })
      return Promise.resolve()
    }
    const looked = Promise.withResolvers<void>()
    const hasDiedSince = () => again.get(agentId)?.hasDied === true
    const done = followAgent(deps, agentId, { hasDied, hasDiedSince, signal, onLook: looked.resolve })
      .catch((error) => deps.log.warn({ agent: agentId, error: errorMessage(error) }, 'cannot tell whether it is down'))
      .finally(() => {
        looked.resolve()
        following.delete(agentId)
        const missed = again.get(agentId)
        if (again.delete(agentId)) void follow(agentId, missed?.hasDied === true)
      })
    following.set(agentId, done)
    return looked.promise
  }
  const events = watchAgentEvents(deps, signal)
  const hearing = (async () => {
    for await (const { id, type } of events) void follow(id, type === 'died')
  })().finally(() => ending.abort())
  // It is waited for below; until then its failure must not count as one that nobody handles.
  hearing.catch(() => undefined)
  const sweep = (ids: string[]) =>
    inLanes(ids, AT_ONCE, async (id) => {
      if (!signal.aborted && !following.has(id)) await follow(id, false)
    })
  try {
    // Whatever happened while nobody listened.
    await sweep(listWanted(deps.db))
    while (!signal.aborted) {
      await pause(sweepMs, signal)
      await sweep(listWanted(deps.db, isNotNull(agents.downAt)))
    }
  } finally {
    ending.abort()
  }
  await hearing
  await Promise.all(following.values())
}

function listWanted(db: Db, which?: SQL): string[] {
  const wanted = db
    .select({ id: agents.id })
    .from(agents)
    .where(and(eq(agents.status, 'running'), which))
  return wanted.all().map(({ id }) => id)
}

type Follow = { hasDied: boolean; hasDiedSince: () => boolean; signal: AbortSignal; onLook: () => void }

/** Until the agent answers, or should not run any more, or nobody can say how it is. */
async function followAgent(deps: FollowDownsDeps, agentId: string, follow: Follow): Promise<void> {
  const { signal } = follow
  let look = await lookAt(deps, agentId, follow)
  follow.onLook()
  for (let pauseMs = FIRST_PAUSE_MS; look.isDown; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    await pause(pauseMs, signal)
    const wasUp = look.state === 'up'
    if (!signal.aborted) look = await lookAt(deps, agentId, { ...follow, hasDied: false })
    // It was back already when its end was noted, and who cannot look again knows nothing newer.
    if (wasUp && (signal.aborted || look.state === 'unknown')) await write(deps.db, (tx) => markUp(tx, agentId))
    if (signal.aborted) return
  }
}

type Look = { state: Liveness; isDown: boolean }

/** Is it down? Notes the answer. One that `hasDied` was down, however late it is looked at. */
async function lookAt(
  deps: FollowDownsDeps,
  agentId: string,
  { hasDied, hasDiedSince }: Pick<Follow, 'hasDied' | 'hasDiedSince'>,
): Promise<Look> {
  const agent = findAgentRow(deps.db, agentId)
  if (agent?.status !== 'running') return { state: 'unknown', isDown: false }
  const looking = checkLiveness(deps, agent)
  // On a busy machine it may be back before the engine answers: what is known already must not wait for that.
  if (hasDied && (await isLate(looking))) await write(deps.db, (tx) => markDown(tx, agentId, ENDED, deps.clock.now()))
  const state = await looking
  const reason = typeof state === 'object' ? state.reason : hasDied ? ENDED : null
  if (reason !== null) await write(deps.db, (tx) => markDown(tx, agentId, reason, deps.clock.now()))
  else if (state === 'up' && !hasDiedSince()) await write(deps.db, (tx) => markUp(tx, agentId))
  if (state === 'unknown' || (state === 'up' && reason === null)) return { state, isDown: false }
  // One that has a process and was not seen down is perhaps slow: the watchdog finds out.
  return { state, isDown: reason !== null || agent.downAt !== null }
}

function isLate(answer: Promise<unknown>): Promise<boolean> {
  return orLate(
    answer.then(() => false),
    PROMPT_MS,
    true,
  )
}

type Liveness = 'up' | 'silent' | 'unknown' | { reason: string }

async function checkLiveness(deps: FollowDownsDeps, agent: AgentRow): Promise<Liveness> {
  try {
    const inspection = await deps.runtimes.runtimeOf(agent).inspect(agent.id)
    if (inspection?.state !== 'running') return { reason: describeEnd(inspection) }
    return (await deps.gateway.isLive(toInspectedEndpoint(deps.sealer, agent, inspection))) ? 'up' : 'silent'
  } catch (error) {
    if (error instanceof AppError) return 'unknown'
    throw error
  }
}

/** Why an agent that should run does not, for its owner. */
export function describeEnd(inspection: Inspection | null): string {
  if (!inspection) return 'It is not there: its runtime does not know it'
  const { state, exitCode, isOutOfMemory } = inspection
  if (isOutOfMemory) return 'It needed more memory than it has, and was ended'
  if (exitCode === BAD_CONFIGURATION_EXIT) return `${ENDED} with a configuration error (exit code ${exitCode})`
  const end = exitCode === null ? ENDED : `${ENDED} with exit code ${exitCode}`
  return state === 'restarting' ? `${end}, and is being started again` : end
}
