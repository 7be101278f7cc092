import { and, eq, isNotNull } from 'drizzle-orm'
import { BAD_CONFIGURATION_EXIT, type Inspection } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { inLanes } from '../../../core/concurrency/keyed-queue.ts'
import { orLate } from '../../../core/concurrency/race.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { prepareOnce } from '../../../db/prepare-once.ts'
import { write } from '../../../db/write.ts'
import { pause } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { type HealthDeps, toInspectedEndpoint } from '../deployments/health.ts'
import { findAgentRow } from '../registry/agents.ts'
import { MACHINE_OFFLINE, markDown, markUp, watchAgentEvents } from '../registry/status.ts'
import { type AgentRow, agents } from '../registry/tables.ts'

export type OutageDeps = HealthDeps & Base & { runtimes: Runtimes }

/** Agents checked concurrently in a sweep. */
const AT_ONCE = 8
/** First pause; owners' streams poll ten times a second, so a short outage stays visible for this long. */
const FIRST_PAUSE_MS = 150
/** Longest pause between two checks of an agent that is down. */
const LONGEST_PAUSE_MS = 2000
/** Interval of checks that no runtime event triggers, in case the engine did not respond. */
const SWEEP_MS = 5000
/** A slower inspection may already show the next process, so the reported end is recorded first. */
const PROMPT_MS = 100
const ENDED = 'It ended'

/**
 * Records which agents that should run are down, from the runtime's event until they respond again, until `stopping`
 * aborts or the event streams end. The runtime and the watchdog restart them.
 * @throws as the runtimes' event streams.
 */
export async function followOutages(
  deps: OutageDeps,
  stopping: AbortSignal,
  { sweepMs = SWEEP_MS } = {},
): Promise<void> {
  const ending = new AbortController()
  const signal = AbortSignal.any([stopping, ending.signal])
  const following = new Map<string, Promise<void>>()
  const again = new Map<string, { hasDied: boolean }>()
  /** Resolves after the first check. */
  const follow = (agentId: string, hasDied: boolean): Promise<void> => {
    if (following.has(agentId)) {
      // An event during a check may come too late for it, so check again afterwards.
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
  // Awaited below; a failure before that must not count as unhandled.
  hearing.catch(() => undefined)
  const sweep = (ids: string[]) =>
    inLanes(ids, AT_ONCE, async (id) => {
      if (!signal.aborted && !following.has(id)) await follow(id, false)
    })
  try {
    // Check for exits before the event stream was open.
    await sweep(listWanted(deps.db))
    while (!signal.aborted) {
      await pause(sweepMs, signal)
      await sweep(
        downAgents(deps.db)
          .all()
          .map(({ id }) => id),
      )
    }
  } finally {
    ending.abort()
  }
  await hearing
  await Promise.all(following.values())
}

function listWanted(db: Db): string[] {
  const wanted = db.select({ id: agents.id }).from(agents).where(eq(agents.status, 'running'))
  return wanted.all().map(({ id }) => id)
}

const downAgents = prepareOnce((db) =>
  db
    .select({ id: agents.id })
    .from(agents)
    .where(and(eq(agents.status, 'running'), isNotNull(agents.downAt)))
    .prepare(),
)

type Follow = { hasDied: boolean; hasDiedSince: () => boolean; signal: AbortSignal; onLook: () => void }

/** Checks an agent until it responds, should not run any more, or its engine does not respond. */
async function followAgent(deps: OutageDeps, agentId: string, follow: Follow): Promise<void> {
  const { signal } = follow
  let look = await lookAt(deps, agentId, follow)
  follow.onLook()
  for (let pauseMs = FIRST_PAUSE_MS; look.isDown; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    await pause(pauseMs, signal)
    const wasUp = look.state === 'up'
    if (!signal.aborted) look = await lookAt(deps, agentId, { ...follow, hasDied: false })
    // It was up when its end was recorded, and no newer check succeeded.
    if (wasUp && (signal.aborted || look.state === 'unknown')) await write(deps.db, (tx) => markUp(tx, agentId))
    if (signal.aborted) return
  }
}

type Look = { state: Liveness; isDown: boolean }

/** Checks an agent and records the answer. After `hasDied` it counts as having been down. */
async function lookAt(
  deps: OutageDeps,
  agentId: string,
  { hasDied, hasDiedSince }: Pick<Follow, 'hasDied' | 'hasDiedSince'>,
): Promise<Look> {
  const agent = findAgentRow(deps.db, agentId)
  if (agent?.status !== 'running') return { state: 'unknown', isDown: false }
  const looking = checkLiveness(deps, agent)
  // On a busy machine the agent may be back before the engine answers; record the end immediately.
  if (hasDied && (await isLate(looking))) await write(deps.db, (tx) => markDown(tx, agentId, ENDED, deps.clock.now()))
  const state = await looking
  const reason = typeof state === 'object' ? state.reason : hasDied ? ENDED : null
  if (reason !== null) await write(deps.db, (tx) => markDown(tx, agentId, reason, deps.clock.now()))
  else if (state === 'up' && !hasDiedSince()) await write(deps.db, (tx) => markUp(tx, agentId))
  if (state === 'unknown' || (state === 'up' && reason === null)) return { state, isDown: false }
  // A silent agent with a process may just be slow; the watchdog decides.
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

async function checkLiveness(deps: OutageDeps, agent: AgentRow): Promise<Liveness> {
  try {
    const inspection = await deps.runtimes.runtimeOf(agent).inspect(agent.id)
    if (!inspection && agent.runtime === 'machine') return { reason: MACHINE_OFFLINE }
    if (inspection?.state !== 'running') return { reason: describeEnd(inspection) }
    return (await deps.gateway.isLive(toInspectedEndpoint(deps.sealer, agent, inspection))) ? 'up' : 'silent'
  } catch (error) {
    if (error instanceof AppError) return 'unknown'
    throw error
  }
}

/** Describes for the owner why an agent that should run does not. */
export function describeEnd(inspection: Inspection | null): string {
  if (!inspection) return 'It is not there: its runtime does not know it'
  const { state, exitCode, isOutOfMemory } = inspection
  if (isOutOfMemory) return 'It needed more memory than it has, and was ended'
  if (exitCode === BAD_CONFIGURATION_EXIT) return `${ENDED} with a configuration error (exit code ${exitCode})`
  const end = exitCode === null ? ENDED : `${ENDED} with exit code ${exitCode}`
  return state === 'restarting' ? `${end}, and is being started again` : end
}
