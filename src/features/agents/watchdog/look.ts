import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import { BAD_CONFIGURATION_EXIT, type Inspection } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { orLate } from '../../../core/concurrency/race.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import { toInspectedEndpoint } from '../deployments/health.ts'
import type { AgentLocks } from '../operations/operations.ts'
import { findAgentRow } from '../registry/agents.ts'
import type { AgentRow } from '../registry/tables.ts'
import type { WatchdogInput } from './next-state.ts'
import { type Findings, findWatchdog, postponeCheck, type RecordDeps, recordEvents } from './record.ts'
import type { WatchdogRow } from './tables.ts'

export type LookDeps = RecordDeps &
  Base & {
    runtimes: Pick<Runtimes, 'runtimeOf'>
    gateway: Pick<AgentGateway, 'isLive'>
    agentLocks: Pick<AgentLocks, 'isLocked'>
  }

/** Limit for each of two consecutive requests, to the engine and to the agent. */
const INSPECT_TIMEOUT_MS = 5000

/**
 * Inspects an agent and records the result. An engine that does not respond is no event; a result is dropped when the
 * agent changed in the meantime.
 * @returns false when the agent changed during the check, whose result is then meaningless.
 */
export async function lookAtAgent(deps: LookDeps, agent: AgentRow, hasDied: boolean): Promise<boolean> {
  const inspection = await inspect(deps, agent)
  if (inspection === undefined) {
    await write(deps.db, (tx) => postponeCheck(deps, tx, agent.id))
    return true
  }
  const isHealthy = await isLive(deps, agent, inspection)
  if (deps.agentLocks.isLocked(agent.id)) return false
  await write(deps.db, (tx) => {
    const current = findUnchanged(tx, agent)
    if (!current) return
    const now = deps.steady.now().getTime()
    const before = findWatchdog(tx, agent.id, now)
    const { events, findings } = judge(before, inspection, { isHealthy, hasDied, now })
    recordEvents(deps, tx, current, events, findings)
  })
  return true
}

/** Returns undefined when the engine did not respond. */
async function inspect({ runtimes, log }: LookDeps, agent: AgentRow): Promise<Inspection | null | undefined> {
  try {
    return await orLate(runtimes.runtimeOf(agent).inspect(agent.id), INSPECT_TIMEOUT_MS, undefined)
  } catch (error) {
    log.debug({ agent: agent.id, error }, 'the engine cannot be asked about an agent')
    return undefined
  }
}

async function isLive({ gateway, sealer }: LookDeps, agent: AgentRow, inspection: Inspection | null): Promise<boolean> {
  if (inspection?.state !== 'running') return false
  return gateway.isLive(toInspectedEndpoint(sealer, agent, inspection))
}

/** Returns the current row if it still describes the checked agent. */
function findUnchanged(tx: Tx, agent: AgentRow): AgentRow | null {
  const current = findAgentRow(tx, agent.id)
  const isSame = current?.status === 'running' && current.startedAt?.getTime() === agent.startedAt?.getTime()
  return isSame ? current : null
}

type Answer = { isHealthy: boolean; hasDied: boolean; now: number }

function judge(before: WatchdogRow, inspection: Inspection | null, { isHealthy, hasDied, now: at }: Answer) {
  const { seen, crashes, isDown, isMisconfigured } = countCrashes(toSeen(before), inspection, hasDied)
  const events: WatchdogInput[] = []
  if (crashes > 0) events.push({ type: 'crashed', at, count: crashes })
  if (isMisconfigured) events.push({ type: 'misconfigured', at })
  else if (isHealthy) events.push({ type: 'probed', at, isHealthy })
  else events.push({ type: 'probed', at, isHealthy: false, isDown })
  const process = { processStartedAt: seen?.startedAt ?? null, processRestarts: seen?.restarts ?? null }
  const findings: Findings = { ...process, ...((crashes > 0 || isMisconfigured) && describeExit(inspection)) }
  return { events, findings }
}

function describeExit(inspection: Inspection | null) {
  return { exitCode: inspection?.exitCode ?? null, outOfMemory: inspection?.isOutOfMemory ?? false }
}

function toSeen({ processStartedAt, processRestarts }: WatchdogRow): SeenProcess | null {
  return processRestarts === null ? null : { startedAt: processStartedAt, restarts: processRestarts }
}

/** The process that was seen last; `startedAt` (milliseconds) is null without one. */
export type SeenProcess = { startedAt: number | null; restarts: number }

/** Result of an inspection: `crashes` since the last one, and whether the agent stays stopped unless it is started. */
type Finding = { seen: SeenProcess | null; crashes: number; isDown: boolean; isMisconfigured: boolean }

/**
 * Compares an inspection with the last one (`seen` is null for the first). `hasDied`: the runtime reported an
 * unrequested end. Each crash counts once, whether the event, the counter or the missing process shows it first;
 * runtimes may raise `restarts` at the end or at the next start.
 */
export function countCrashes(seen: SeenProcess | null, inspection: Inspection | null, hasDied: boolean): Finding {
  if (!inspection) return { seen: null, crashes: 0, isDown: true, isMisconfigured: false }
  const current = { startedAt: inspection.startedAt?.getTime() ?? null, restarts: inspection.restarts }
  const isUp = inspection.state === 'running'
  const isDown = inspection.state === 'stopped' || inspection.state === 'exited'
  // An exit with a configuration error is no crash.
  if (!isUp && inspection.exitCode === BAD_CONFIGURATION_EXIT) {
    return { seen: { ...current, startedAt: null }, crashes: 0, isDown, isMisconfigured: true }
  }
  const crashes = seen ? compare(seen, current, inspection, hasDied) : Number(hasDied)
  return { seen: isUp ? current : { ...current, startedAt: null }, crashes, isDown, isMisconfigured: false }
}

function compare(seen: SeenProcess, current: SeenProcess, { state }: Inspection, hasDied: boolean): number {
  const restarts = Math.max(0, current.restarts - seen.restarts)
  const wasUp = seen.startedAt !== null
  if (state === 'running') {
    // A known absence was already counted, together with its restart.
    if (!wasUp) return Math.max(0, restarts - 1)
    const isOther = current.startedAt !== seen.startedAt
    return Math.max(restarts, Number(isOther && hasDied))
  }
  if (!wasUp) return restarts
  // Stopped on request, unless the runtime reported an unrequested end.
  return state === 'stopped' && !hasDied ? 0 : Math.max(1, restarts)
}
