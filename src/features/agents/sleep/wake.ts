import { and, eq } from 'drizzle-orm'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { AgentEndpoint } from '../../../adapters/gateways/http.ts'
import type { Inspection } from '../../../adapters/runtimes/contract/runtime.ts'
import { orAborted } from '../../../core/concurrency/race.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import { waitForHealthy } from '../deployments/health.ts'
import { finishRotation } from '../deployments/rotate-token.ts'
import { endIfUnwanted, type StartDeps, startOnFreePort, toLogged, toReason, toSeen } from '../deployments/start.ts'
import type { AgentLocks } from '../operations/operations.ts'
import { findReachableEndpoint } from '../registry/address.ts'
import { findAgentRow } from '../registry/agents.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import type { AgentActivity } from './sleep.ts'

type WakeDeps = StartDeps &
  Base & { gateway: Pick<AgentGateway, 'isLive' | 'readiness' | 'endPairings'>; agentLocks: AgentLocks }

/**
 * Wakes a sleeping agent and resolves when it responds; does nothing for other agents. Concurrent calls share one
 * start.
 * @throws AppError `unavailable` {code: 'WAKE_FAILED'} with the reason why it does not run.
 */
export type Wake = (agentId: string) => Promise<void>

/** Short, because a caller waits. */
const POLL_MS = 25

export function createWaker(deps: WakeDeps): Wake {
  const waking = new Map<string, Promise<void>>()
  return (agentId) => {
    const known = waking.get(agentId)
    if (known) return known
    const woken = deps.agentLocks.run(agentId, () => wakeAgent(deps, agentId)).finally(() => waking.delete(agentId))
    waking.set(agentId, woken)
    return woken
  }
}

/**
 * Starts a sleeping agent. Its row says `sleeping` until it is healthy, so that a crash leaves nothing running. A
 * concurrent stop or deletion wins.
 */
async function wakeAgent(deps: WakeDeps, agentId: string): Promise<void> {
  const agent = findAgentRow(deps.db, agentId)
  if (agent?.status !== 'sleeping') return
  const startedAt = performance.now()
  try {
    const inspection = await bringBack(deps, agent)
    const awake = { ...toSeen(inspection, null), ...toAwake(deps.clock.now()) }
    await write(deps.db, (tx) => tx.update(agents).set(awake).where(isSleepingRow(agentId)).run())
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
 * Marks an agent that failed to wake as down, for the watchdog to repair and report. It stays asleep when its engine
 * does not respond, because nothing is known of it then.
 */
async function noteFailure(deps: WakeDeps, agent: AgentRow, error: unknown): Promise<void> {
  deps.log.error({ agentId: agent.id, error: toLogged(error) }, 'agent could not be woken')
  if (!(await deps.runtimes.runtimeOf(agent).isAvailable())) return
  const now = deps.clock.now()
  const down = { ...toAwake(now), downAt: now, lastError: toReason(error) }
  await write(deps.db, (tx) => tx.update(agents).set(down).where(isSleepingRow(agent.id)).run())
}

function toAwake(now: Date) {
  return { status: 'running', startedAt: now, downAt: null, updatedAt: now } as const
}

function isSleepingRow(agentId: string) {
  return and(eq(agents.id, agentId), eq(agents.status, 'sleeping'))
}

/**
 * Wraps `gateway`: wakes a sleeping agent before a call and keeps it awake during the call. Endpoints without an
 * agent's id are passed through.
 * @throws as `AgentGateway`; AppError `conflict` AGENT_NOT_RUNNING when it was stopped meanwhile, and as `Wake`.
 */
export function createWakingGateway(
  gateway: AgentGateway,
  deps: Base & { activity: AgentActivity; wake: Wake },
): AgentGateway {
  const whileAwake =
    <Rest extends unknown[], Answer>(ask: (endpoint: AgentEndpoint, ...rest: Rest) => Promise<Answer>) =>
    async (endpoint: AgentEndpoint, ...rest: Rest): Promise<Answer> => {
      const { awake, release } = await holdAwake(deps, endpoint)
      return ask(awake, ...rest).finally(release)
    }
  const streamAwake = <Asked, Part>(
    ask: (endpoint: AgentEndpoint, asked: Asked, signal: AbortSignal) => AsyncIterable<Part>,
  ) =>
    async function* (endpoint: AgentEndpoint, asked: Asked, signal: AbortSignal): AsyncGenerator<Part, void> {
      const { awake, release } = await holdAwake(deps, endpoint, signal)
      try {
        yield* ask(awake, asked, signal)
      } finally {
        release()
      }
    }
  return {
    isLive: gateway.isLive,
    readiness: gateway.readiness,
    version: whileAwake(gateway.version),
    health: whileAwake(gateway.health),
    async chat(endpoint, request, signal) {
      const { awake, release } = await holdAwake(deps, endpoint, signal)
      return gateway.chat(awake, request, signal).finally(release)
    },
    streamChat: streamAwake(gateway.streamChat),
    streamTurn: streamAwake(gateway.streamTurn),
    joinTurn: streamAwake(gateway.joinTurn),
    // A sleeping agent has no turn to stop.
    stopTurn: async (endpoint, turnId) =>
      isAsleep(deps, endpoint) ? undefined : whileAwake(gateway.stopTurn)(endpoint, turnId),
    sessions: whileAwake(gateway.sessions),
    history: whileAwake(gateway.history),
    forgetSession: whileAwake(gateway.forgetSession),
    resetMemory: whileAwake(gateway.resetMemory),
    readNotes: whileAwake(gateway.readNotes),
    writeNote: whileAwake(gateway.writeNote),
    channels: whileAwake(gateway.channels),
    decidePairing: whileAwake(gateway.decidePairing),
    removePerson: whileAwake(gateway.removePerson),
    readInstructions: whileAwake(gateway.readInstructions),
    writeInstructions: whileAwake(gateway.writeInstructions),
    listMcpTools: whileAwake(gateway.listMcpTools),
    callMcpTool: whileAwake(gateway.callMcpTool),
    rehearse: whileAwake(gateway.rehearse),
    endPairings: whileAwake(gateway.endPairings),
  }
}

const NEVER = new AbortController().signal

/**
 * Marks the agent as in use before reading its row, so that it cannot fall asleep; its port may change when it wakes.
 */
async function holdAwake(
  deps: Base & { activity: AgentActivity; wake: Wake },
  endpoint: AgentEndpoint,
  signal = NEVER,
): Promise<{ awake: AgentEndpoint; release: () => void }> {
  const { agentId } = endpoint
  if (agentId === undefined) return { awake: endpoint, release: () => undefined }
  const release = deps.activity.hold(agentId)
  if (!isAsleep(deps, endpoint)) return { awake: endpoint, release }
  try {
    await orAborted(deps.wake(agentId), signal)
    const agent = findAgentRow(deps.db, agentId)
    const awake = agent && findReachableEndpoint(deps.sealer, agent)
    if (!awake) throw new AppError('conflict', 'Agent is not running', { code: 'AGENT_NOT_RUNNING' })
    return { awake, release }
  } catch (error) {
    release()
    throw error
  }
}

function isAsleep({ db }: { db: Db }, { agentId }: AgentEndpoint): boolean {
  return agentId !== undefined && findAgentRow(db, agentId)?.status === 'sleeping'
}
