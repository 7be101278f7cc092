import { and, inArray, isNotNull } from 'drizzle-orm'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { pause, type RepeatingJob } from '../../../jobs/runner.ts'
import { type SpecDeps, toSpec } from '../deployments/spec.ts'
import { findAgentRow } from '../registry/agents.ts'
import { watchAgentEvents } from '../registry/status.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { createLineCleaner, followAgent } from './follow.ts'
import { appendLines, deleteOldLines, findCursor, listSources } from './store.ts'

/** How often the rows are looked at for agents that came or went. */
const LOOK_MS = 1000
/** An agent that was stopped is followed so long, for its last words. */
const LAST_WORDS_MS = 2000
/** After a runtime failed. */
const RETRY_MS = 1000
/** The last words of an agent that died are stored by then. */
const SETTLE_MS = 1500

type IngestDeps = SpecDeps & { db: Db; clock: Clock; log: Log; runtimes: Pick<Runtimes, 'runtimeOf' | 'watch'> }

/** One agent that is followed. `secrets` is what its lines are cleaned of, as they were when its row had `updatedAt`. */
type Follower = {
  clean: (text: string) => string
  updatedAt: number
  ending: AbortController
  isLeaving: boolean
  done: Promise<void>
}

/**
 * Stores what every agent writes that should run, and how it ended, until `signal` aborts. Fine to be called again: it goes
 * on where it was.
 */
async function ingestLogs(deps: IngestDeps, signal: AbortSignal): Promise<void> {
  const followers = new Map<string, Follower>()
  const leaving = new Set<Promise<void>>()
  const watching = watchEnds(deps, signal)
  try {
    while (!signal.aborted) {
      await lookAtAgents(deps, followers, leaving, signal)
      await pause(LOOK_MS, signal)
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
  const wanted = new Map(listFollowed(deps).map((agent) => [agent.id, agent]))
  for (const agent of wanted.values()) await noteFollowed(deps, followers, agent)
  for (const [id, follower] of followers) {
    if (wanted.has(id) || follower.isLeaving) continue
    follower.isLeaving = true
    const left = letGo(deps, id, follower, signal).finally(() => {
      leaving.delete(left)
      if (follower.ending.signal.aborted) followers.delete(id)
    })
    leaving.add(left)
  }
}

/** Starts to follow an agent, or has its follower take note of settings that were changed. */
async function noteFollowed(deps: IngestDeps, followers: Map<string, Follower>, agent: AgentRow): Promise<void> {
  const known = followers.get(agent.id)
  const updatedAt = agent.updatedAt.getTime()
  if (known?.updatedAt === updatedAt) return
  const clean = await findCleaner(deps, agent)
  // Without it nothing may be stored.
  if (!clean) return
  if (known) Object.assign(known, { clean, updatedAt, isLeaving: false })
  else followers.set(agent.id, startFollower(deps, agent, clean))
}

/** Agents that have been deployed and should run. */
function listFollowed({ db }: IngestDeps): AgentRow[] {
  const isFollowed = and(
    inArray(agents.status, ['provisioning', 'running', 'error', 'unknown']),
    isNotNull(agents.port),
  )
  return db.select().from(agents).where(isFollowed).all()
}

/** Takes out all that the agent is told in secret: it may say it again. Null when its secrets cannot be read. */
async function findCleaner(deps: IngestDeps, agent: AgentRow): Promise<Follower['clean'] | null> {
  try {
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

/** A runtime that fails, or does not know the agent yet, is asked again. */
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

/** Runs `follow` again whenever it ends, until `signal` aborts. The log hears of a failure when it is another one. */
async function keepTrying(log: Log, message: string, signal: AbortSignal, follow: () => Promise<void>): Promise<void> {
  let told = ''
  while (!signal.aborted) {
    await follow().catch((error: unknown) => {
      const reason = errorMessage(error)
      if (!signal.aborted && reason !== told) log.warn({ error: reason }, message)
      told = reason
    })
    await pause(RETRY_MS, signal)
  }
}

/** For an agent that should not run any more: its last words, and how it ended. */
async function letGo(deps: IngestDeps, agentId: string, follower: Follower, signal: AbortSignal): Promise<void> {
  await pause(LAST_WORDS_MS, signal)
  if (!follower.isLeaving) return
  follower.ending.abort()
  await follower.done
  if (!signal.aborted) await storeEnd(deps, agentId, deps.clock.now(), Promise.resolve())
}

/** Agents that ended by themselves. */
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

/** The exit code is that of now, its line comes after what is stored before `settled`. */
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

/** Follows all agents for as long as the platform runs; begins anew when it fails. */
export function followLogsJob(deps: IngestDeps): RepeatingJob {
  return { name: 'logs.follow', everyMs: START_MS, run: (signal) => ingestLogs(deps, signal) }
}

/** Forgets lines that are too old, some at a time: other writers wait no longer than that takes. */
export function forgetLogsJob(deps: { db: Db; clock: Clock }): RepeatingJob {
  return { name: 'logs.forget', everyMs: HOUR_MS, run: (signal) => forgetLogs(deps, signal) }
}

async function forgetLogs({ db, clock }: { db: Db; clock: Clock }, signal: AbortSignal): Promise<void> {
  for (const agentId of listSources(db)) {
    while (await write(db, (tx) => deleteOldLines(tx, agentId, clock.now()))) signal.throwIfAborted()
  }
}
