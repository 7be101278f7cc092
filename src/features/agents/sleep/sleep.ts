import { and, eq, isNotNull, isNull, lte } from 'drizzle-orm'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import { inLanes } from '../../../core/concurrency/keyed-queue.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { stopIfDeployed } from '../deployments/start.ts'
import { type AgentLocks, findUnfinished } from '../operations/operations.ts'
import { findAgentRow } from '../registry/agents.ts'
import { hasMessenger, hasToStayAwake } from '../registry/config.ts'
import { type AgentRow, agents } from '../registry/tables.ts'

/** Tracks the use of agents in memory; a restarted platform counts idle times anew. */
export type AgentActivity = {
  /** Marks the agent as in use until the returned function is called. */
  hold(agentId: string): () => void
  /** Records activity of the agent. */
  touch(agentId: string): void
  /** Returns whether the agent is in use or was since `time`. */
  isUsedSince(agentId: string, time: Date): boolean
  /** Drops records from before `time`. */
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

type SleepDeps = Base & {
  runtimes: Pick<Runtimes, 'runtimeOf'>
  agentLocks: AgentLocks
  activity: AgentActivity
  /** Idle time before an agent sleeps; null disables sleep. */
  sleepAfterMs: number | null
}

/** Agents stopped concurrently. */
const AT_ONCE = 4

/** Puts agents to sleep that were idle for `sleepAfterMs`. An agent that cannot be stopped keeps running. */
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
 * Returns whether the agent was idle since then and has nothing that could wake it: no messenger, no OpenClaw (whose
 * timers and channels are unknown here), and no owner who wants it to stay awake.
 */
function isIdle({ activity, agentLocks, sealer }: SleepDeps, agent: AgentRow, since: Date): boolean {
  if (agent.status !== 'running' || agent.kind !== 'stead' || agent.downAt !== null) return false
  if (agent.startedAt === null || agent.startedAt > since) return false
  if (activity.isUsedSince(agent.id, since) || agentLocks.isLocked(agent.id)) return false
  return !hasToStayAwake(agent) && (agent.secretConfig === null || !hasMessenger(sealer, agent))
}

/**
 * Puts an agent to sleep. The row is written first, in the transaction that confirms the idleness, so that later
 * requests wait for the lock and wake it. After a crash in between, reconciliation stops the agent.
 */
async function fallAsleep(deps: SleepDeps, agentId: string, since: Date): Promise<void> {
  const known = findAgentRow(deps.db, agentId)
  if (!known || !isIdle(deps, known, since)) return
  await deps.agentLocks.run(agentId, async () => {
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

/**
 * Marks an idle agent as sleeping; null when it is in use. The caller holds the lock, so only `activity` shows other
 * users.
 */
function markAsleep(deps: SleepDeps, tx: Tx, agentId: string, since: Date): AgentRow | null {
  const agent = findAgentRow(tx, agentId)
  const alone = { ...deps, agentLocks: { ...deps.agentLocks, isLocked: () => false } }
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

/** Longest interval of checks; shorter idle times are checked four times. */
const LOOK_MS = 30_000
const LEAST_LOOK_MS = 100

/** Puts idle agents to sleep. */
export function sleepJob(deps: SleepDeps): RepeatingJob {
  const quarterMs = (deps.sleepAfterMs ?? LOOK_MS) / 4
  const everyMs = Math.min(LOOK_MS, Math.max(LEAST_LOOK_MS, quarterMs))
  return { name: 'agents.sleep', everyMs, run: () => letIdleSleep(deps) }
}
