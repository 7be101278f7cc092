import { and, eq, isNotNull, isNull, lte } from 'drizzle-orm'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import { inLanes } from '../../../core/concurrency/in-lanes.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { stopIfDeployed } from '../deployments/start.ts'
import { type AgentTurns, findUnfinished } from '../operations/operations.ts'
import { findAgentRow } from '../registry/agents.ts'
import { hasMessenger, hasToStayAwake } from '../registry/config.ts'
import { type AgentRow, agents } from '../registry/tables.ts'

/**
 * Who has to do with which agent now, and when that was last: in memory, because a platform that is started again counts the
 * idle time of its agents anew.
 */
export type AgentActivity = {
  /** The agent is needed until what this returns is called, however often that is. */
  hold(agentId: string): () => void
  /** The agent did something, or was asked to. */
  touch(agentId: string): void
  /** Is the agent needed now, or was it since `time`? */
  isUsedSince(agentId: string, time: Date): boolean
  /** Lets go of what says nothing any more when no earlier time than `time` is asked about. */
  forgetBefore(time: Date): void
}

type Use = { holders: number; usedAt: Date }

export function createAgentActivity(clock: Clock): AgentActivity {
  const openedAt = clock.now()
  const uses = new Map<string, Use>()
  const touch = (agentId: string): Use => {
    const use = uses.get(agentId) ?? { holders: 0, usedAt: openedAt }
    use.usedAt = clock.now()
    uses.set(agentId, use)
    return use
  }
  return {
    hold(agentId) {
      touch(agentId).holders += 1
      let isHeld = true
      return () => {
        if (isHeld) touch(agentId).holders -= 1
        isHeld = false
      }
    },
    touch: (agentId) => void touch(agentId),
    isUsedSince(agentId, time) {
      const { holders, usedAt } = uses.get(agentId) ?? { holders: 0, usedAt: openedAt }
      return holders > 0 || usedAt > time
    },
    forgetBefore(time) {
      for (const [id, { holders, usedAt }] of uses) if (holders === 0 && usedAt <= time) uses.delete(id)
    },
  }
}

type SleepDeps = {
  db: Db
  clock: Clock
  log: Log
  sealer: Sealer
  runtimes: Pick<Runtimes, 'runtimeOf'>
  agentTurns: AgentTurns
  activity: AgentActivity
  /** How long an agent has nothing to do before it sleeps; null: none does. */
  sleepAfterMs: number | null
}

/** Agents that are ended together. */
const AT_ONCE = 4

/** Lets the agents fall asleep that nobody has needed for `sleepAfterMs`. One that cannot be ended runs on. */
export async function letIdleSleep(deps: SleepDeps): Promise<void> {
  if (deps.sleepAfterMs === null) return
  const since = new Date(deps.clock.now().getTime() - deps.sleepAfterMs)
  const ids = listIdle(deps, since)
  deps.activity.forgetBefore(since)
  await inLanes(ids, AT_ONCE, (id) => fallAsleep(deps, id, since))
}

function listIdle(deps: SleepDeps, since: Date): string[] {
  const mayBeIdle = and(
    eq(agents.status, 'running'),
    eq(agents.kind, 'stead'),
    isNull(agents.downAt),
    isNotNull(agents.port),
    lte(agents.startedAt, since),
  )
  const rows = deps.db.select().from(agents).where(mayBeIdle).all()
  return rows.filter((agent) => isIdle(deps, agent, since)).map(({ id }) => id)
}

/**
 * Has nobody needed the agent since then, and does it need nobody's asking to have something to do? One with a messenger
 * listens there, OpenClaw has clocks and channels of its own, of which nothing is known here, and its owner may want one to
 * run on.
 */
function isIdle({ activity, agentTurns, sealer }: SleepDeps, agent: AgentRow, since: Date): boolean {
  if (agent.status !== 'running' || agent.kind !== 'stead' || agent.downAt !== null) return false
  if (agent.startedAt === null || agent.startedAt > since) return false
  if (activity.isUsedSince(agent.id, since) || agentTurns.isTaken(agent.id)) return false
  return !hasToStayAwake(agent) && (agent.secretConfig === null || !hasMessenger(sealer, agent))
}

/**
 * The row is written first, in the closure that sees that nobody needs the agent: whoever comes later finds it asleep, and
 * waits for the turn to wake it. A crash in between leaves a sleeping agent that still runs, which reconciliation ends.
 */
async function fallAsleep(deps: SleepDeps, agentId: string, since: Date): Promise<void> {
  const known = findAgentRow(deps.db, agentId)
  if (!known || !isIdle(deps, known, since)) return
  await deps.agentTurns.take(agentId, async () => {
    const agent = await write(deps.db, (tx) => markAsleep(deps, tx, agentId, since))
    if (!agent) return
    try {
      await stopIfDeployed(deps.runtimes.runtimeOf(agent), agentId)
      deps.log.info({ agentId }, 'agent fell asleep')
    } catch (error) {
      deps.log.warn({ agentId, error: errorMessage(error) }, 'an idle agent could not be ended')
      await write(deps.db, (tx) => setStatus(tx, agentId, 'sleeping', 'running', deps.clock.now()))
    }
  })
}

/** The turn is taken by the one who asks, so only `activity` can tell of others. Null when somebody needs the agent. */
function markAsleep(deps: SleepDeps, tx: Tx, agentId: string, since: Date): AgentRow | null {
  const agent = findAgentRow(tx, agentId)
  const alone = { ...deps, agentTurns: { ...deps.agentTurns, isTaken: () => false } }
  if (!agent || !isIdle(alone, agent, since) || findUnfinished(tx, agentId)) return null
  setStatus(tx, agentId, 'running', 'sleeping', deps.clock.now())
  return agent
}

function setStatus(tx: Tx, id: string, from: AgentRow['status'], to: AgentRow['status'], now: Date): void {
  tx.update(agents)
    .set({ status: to, updatedAt: now })
    .where(and(eq(agents.id, id), eq(agents.status, from)))
    .run()
}

/** Idle agents are looked for so often, or four times in the time after which they sleep. */
const LOOK_MS = 30_000
const LEAST_LOOK_MS = 100

/** Agents fall asleep that nobody needs. */
export function sleepJob(deps: SleepDeps): RepeatingJob {
  const quarterMs = (deps.sleepAfterMs ?? LOOK_MS) / 4
  const everyMs = Math.min(LOOK_MS, Math.max(LEAST_LOOK_MS, quarterMs))
  return { name: 'agents.sleep', everyMs, run: () => letIdleSleep(deps) }
}
