import { and, inArray, isNotNull, or } from 'drizzle-orm'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { toWholeSecond } from '../../../core/concurrency/timing.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { prepareOnce } from '../../../db/prepare-once.ts'
import { write } from '../../../db/write.ts'
import { pause, type RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { type SpecDeps, toSpec } from '../deployments/spec.ts'
import { findAgentRow, openTokens } from '../registry/agents.ts'
import { watchAgentEvents } from '../registry/status.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { createLineCleaner, followAgent } from './follow.ts'
import { appendLines, deleteOldLines, findCursor, listSources } from './store.ts'

/** Interval at which new and removed agents are detected. */
const LOOK_MS = 1000
/** A stopped agent is followed for this long, for its last lines. */
const LAST_WORDS_MS = 2000
/** Pause after a runtime failed. */
const RETRY_MS = 1000
/** The last lines of a dead agent are stored within this time. */
const SETTLE_MS = 1500

type IngestDeps = SpecDeps & Base & { runtimes: Pick<Runtimes, 'runtimeOf' | 'watch'> }

/** A followed agent. `clean` masks its secrets as of the row's `updatedAt`. */
type Follower = {
  clean: (text: string) => string
  updatedAt: number
  ending: AbortController
  isLeaving: boolean
  done: Promise<void>
}

/**
 * Stores the output and the ends of every agent that should run, until `signal` aborts. A new call continues where the
 * previous one stopped.
 */
async function ingestLogs(deps: IngestDeps, signal: AbortSignal): Promise<void> {
  const followers = new Map<string, Follower>()
  const leaving = new Set<Promise<void>>()
  const watching = watchEnds(deps, signal)
  try {
    while (!signal.aborted) {
      await lookAtAgents(deps, followers, leaving, signal)
      await pause(toWholeSecond(LOOK_MS), signal)
    }
  } finally {
    for (const { ending } of followers.values()) ending.abort()
    await Promise.all([watching, ...leaving, ...[...followers.values()].map(({ done }) => done)])
  }
}

async function lookAtAgents(
  deps: IngestDeps,
  followers: Map<string, Follower>,
  leaving: Set<Promise<void>>,
  signal: AbortSignal,
): Promise<void> {
  const wanted = new Map(
    followedAgents(deps.db)
      .all()
      .map((agent) => [agent.id, agent]),
  )
  for (const agent of wanted.values()) await noteFollowed(deps, followers, agent)
  for (const [id, follower] of followers) {
    if (wanted.has(id) || follower.isLeaving) continue
    follower.isLeaving = true
    const left = storeLastLines(deps, id, follower, signal).finally(() => {
      leaving.delete(left)
      if (follower.ending.signal.aborted) followers.delete(id)
    })
    leaving.add(left)
  }
}

/** Starts to follow an agent, or updates its follower after changed settings. */
async function noteFollowed(deps: IngestDeps, followers: Map<string, Follower>, agent: AgentRow): Promise<void> {
  const known = followers.get(agent.id)
  const updatedAt = agent.updatedAt.getTime()
  if (known?.updatedAt === updatedAt) return
  const clean = await findCleaner(deps, agent)
  // Without the secrets nothing may be stored, because it could not be masked.
  if (!clean) return
  if (known) Object.assign(known, { clean, updatedAt, isLeaving: false })
  else followers.set(agent.id, startFollower(deps, agent, clean))
}

/** Deployed agents that should run. */
const followedAgents = prepareOnce((db) => {
  const isFollowed = and(
    inArray(agents.status, ['provisioning', 'running', 'error', 'unknown']),
    or(isNotNull(agents.port), isNotNull(agents.tunnelPort)),
  )
  return db.select().from(agents).where(isFollowed).prepare()
})

/** Returns a function that masks the agent's secrets in its output; null when they cannot be read. */
async function findCleaner(deps: IngestDeps, agent: AgentRow): Promise<Follower['clean'] | null> {
  try {
    if (agent.runtime === 'machine') return createLineCleaner(Object.values(openTokens(deps.sealer, agent)))
    const { secrets } = await toSpec(deps, agent, agent.port ?? 1)
    return createLineCleaner(Object.values(secrets))
  } catch (error) {
    deps.log.error({ agentId: agent.id, error: errorMessage(error) }, 'the secrets of an agent cannot be read')
    return null
  }
}

function startFollower(deps: IngestDeps, agent: AgentRow, clean: Follower['clean']): Follower {
  const ending = new AbortController()
  const follower: Follower = {
    clean,
    updatedAt: agent.updatedAt.getTime(),
    ending,
    isLeaving: false,
    done: Promise.resolve(),
  }
  follower.done = keepFollowing(deps, agent, follower)
  return follower
}

/** Follows an agent and retries when its runtime fails or does not know it yet. */
async function keepFollowing(deps: IngestDeps, agent: AgentRow, follower: Follower): Promise<void> {
  const { signal } = follower.ending
  await keepTrying(deps.log, 'cannot follow the log of an agent', signal, async () => {
    try {
      await followAgent(deps, agent, () => follower.clean, signal)
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== 'not_found') throw error
    }
  })
}

/** Calls `follow` repeatedly until `signal` aborts. Only a changed failure is logged. */
async function keepTrying(log: Log, message: string, signal: AbortSignal, follow: () => Promise<void>): Promise<void> {
  let lastReason = ''
  while (!signal.aborted) {
    await follow().catch((error: unknown) => {
      const reason = errorMessage(error)
      if (!signal.aborted && reason !== lastReason) log.warn({ error: reason }, message)
      lastReason = reason
    })
    await pause(RETRY_MS, signal)
  }
}

/** Stores the last lines and the end of an agent that should not run any more. */
async function storeLastLines(
  deps: IngestDeps,
  agentId: string,
  follower: Follower,
  signal: AbortSignal,
): Promise<void> {
  await pause(LAST_WORDS_MS, signal)
  if (!follower.isLeaving) return
  follower.ending.abort()
  await follower.done
  if (!signal.aborted) await storeEnd(deps, agentId, deps.clock.now(), Promise.resolve())
}

/** Stores the ends of agents that exited without a stop. */
async function watchEnds(deps: IngestDeps, signal: AbortSignal): Promise<void> {
  const storing = new Set<Promise<void>>()
  await keepTrying(deps.log, 'cannot watch agents for their ends', signal, async () => {
    for await (const { id, type, at } of watchAgentEvents(deps, signal)) {
      if (type !== 'died') continue
      const stored = storeEnd(deps, id, at, pause(SETTLE_MS, signal)).finally(() => storing.delete(stored))
      storing.add(stored)
    }
  })
  await Promise.all(storing)
}

/** Stores the current exit code, after the lines that arrive before `settled`. */
async function storeEnd(deps: IngestDeps, agentId: string, at: Date, settled: Promise<void>): Promise<void> {
  try {
    const agent = findAgentRow(deps.db, agentId)
    const exitCode = (agent && (await deps.runtimes.runtimeOf(agent).inspect(agentId)))?.exitCode ?? null
    await settled
    const end = { at, stream: 'exit', text: exitCode === null ? '' : String(exitCode) } as const
    await write(deps.db, (tx) => {
      const cursor = findCursor(tx, agentId)
      appendLines(tx, agentId, [end], { before: cursor, after: cursor })
    })
  } catch (error) {
    deps.log.warn({ agentId, error: errorMessage(error) }, 'cannot store how an agent ended')
  }
}

const HOUR_MS = 3_600_000
const START_MS = 100

/** Follows all agents while the platform runs; restarts after a failure. */
export function followLogsJob(deps: IngestDeps): RepeatingJob {
  return { name: 'logs.follow', everyMs: START_MS, run: (signal) => ingestLogs(deps, signal) }
}

/** Deletes old lines in small batches, so that other writers do not wait long. */
export function forgetLogsJob(deps: Base): RepeatingJob {
  return { name: 'logs.forget', everyMs: HOUR_MS, run: (signal) => forgetLogs(deps, signal) }
}

async function forgetLogs({ db, clock }: Base, signal: AbortSignal): Promise<void> {
  for (const agentId of listSources(db)) {
    while (await write(db, (tx) => deleteOldLines(tx, agentId, clock.now()))) signal.throwIfAborted()
  }
}
