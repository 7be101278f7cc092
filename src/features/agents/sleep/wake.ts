import { and, eq } from 'drizzle-orm'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Inspection } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { write } from '../../../db/write.ts'
import { waitForHealthy } from '../deployments/health.ts'
import { finishRotation } from '../deployments/rotate-token.ts'
import { endIfUnwanted, type PlaceDeps, startOnFreePort, toLogged, toReason, toSeen } from '../deployments/start.ts'
import type { AgentTurns } from '../operations/turns.ts'
import { findAgentRow } from '../registry/list.ts'
import { type AgentRow, agents } from '../registry/tables.ts'

export type WakeDeps = PlaceDeps & {
  clock: Clock
  log: Log
  gateway: Pick<AgentGateway, 'isLive' | 'readiness' | 'endPairings'>
  agentTurns: AgentTurns
}

/**
 * Wakes an agent that sleeps and resolves when it can be talked to; fine when it does not sleep (any more). However many
 * ask at once, it is started once.
 * @throws AppError `unavailable` {code: 'WAKE_FAILED'} with the reason why it does not run.
 */
export type Wake = (agentId: string) => Promise<void>

/** Somebody waits for it. */
const POLL_MS = 25

export function createWaker(deps: WakeDeps): Wake {
  const waking = new Map<string, Promise<void>>()
  return (agentId) => {
    const known = waking.get(agentId)
    if (known) return known
    const woken = deps.agentTurns.take(agentId, () => wakeAgent(deps, agentId)).finally(() => waking.delete(agentId))
    waking.set(agentId, woken)
    return woken
  }
}

/**
 * Until it is healthy its row says that it sleeps: a platform that dies here ends what it has started. Who stops or deletes
 * it meanwhile has the last word.
 */
async function wakeAgent(deps: WakeDeps, agentId: string): Promise<void> {
  const agent = findAgentRow(deps.db, agentId)
  if (agent?.status !== 'sleeping') return
  const startedAt = performance.now()
  try {
    const inspection = await bringBack(deps, agent)
    const awake = { ...toSeen(inspection, null), ...toAwake(deps.clock.now()) }
    await write(deps.db, (tx) => tx.update(agents).set(awake).where(isAsleep(agentId)).run())
    deps.log.info({ agentId, ms: Math.round(performance.now() - startedAt) }, 'agent woke')
  } catch (error) {
    await noteFailure(deps, agent, error)
    const message = `The agent could not be woken: ${toReason(error)}`
    throw new AppError('unavailable', message, { code: 'WAKE_FAILED' }, { cause: error })
  } finally {
    await endIfUnwanted(deps, agentId)
  }
}

async function bringBack(deps: WakeDeps, agent: AgentRow): Promise<Inspection> {
  const placed = await startOnFreePort(deps, agent, () => undefined)
  const isWanted = () => findAgentRow(deps.db, agent.id)?.status === 'sleeping'
  const signal = new AbortController().signal
  const inspection = await waitForHealthy(deps, placed, { signal, isWanted, pollMs: POLL_MS })
  await finishRotation(deps, placed, inspection)
  return inspection
}

/**
 * From here on it is an agent that should run and does not: the watchdog repairs it and tells of it. It goes on sleeping when
 * its engine cannot be asked: then nothing is known of it.
 */
async function noteFailure(deps: WakeDeps, agent: AgentRow, error: unknown): Promise<void> {
  deps.log.error({ agentId: agent.id, error: toLogged(error) }, 'agent could not be woken')
  if (!(await deps.runtimes.runtimeOf(agent).isAvailable())) return
  const now = deps.clock.now()
  const down = { ...toAwake(now), downAt: now, lastError: toReason(error) }
  await write(deps.db, (tx) => tx.update(agents).set(down).where(isAsleep(agent.id)).run())
}

function toAwake(now: Date) {
  return { status: 'running', startedAt: now, downAt: null, updatedAt: now } as const
}

function isAsleep(agentId: string) {
  return and(eq(agents.id, agentId), eq(agents.status, 'sleeping'))
}
