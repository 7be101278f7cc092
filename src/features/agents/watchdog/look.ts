import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Inspection } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { orLate } from '../../../core/concurrency/or-late.ts'
import type { Log } from '../../../core/log.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { toEndpoint } from '../deployments/health.ts'
import type { AgentTurns } from '../operations/turns.ts'
import { findAgentRow } from '../registry/list.ts'
import type { AgentRow } from '../registry/tables.ts'
import { countCrashes, type SeenProcess } from './count-crashes.ts'
import type { WatchdogEvent } from './next-state.ts'
import { type Findings, findWatchdog, postponeCheck, type RecordDeps, recordEvents } from './record.ts'
import type { WatchdogRow } from './tables.ts'

export type LookDeps = RecordDeps & {
  db: Db
  log: Log
  sealer: Sealer
  runtimes: Pick<Runtimes, 'runtimeOf'>
  gateway: Pick<AgentGateway, 'isLive'>
  agentTurns: Pick<AgentTurns, 'isTaken'>
}

/** The engine and the agent are asked one after the other, each for at most 5 s. */
const INSPECT_TIMEOUT_MS = 5000

/**
 * Asks the engine and the agent how it is and records the answer. An engine that cannot be asked is no event at all, and
 * neither is an answer about an agent to which something else happened meanwhile.
 * @returns false when somebody changed the agent during the look, which tells nothing then.
 */
export async function lookAtAgent(deps: LookDeps, agent: AgentRow, hasDied: boolean): Promise<boolean> {
  const inspection = await inspect(deps, agent)
  if (inspection === undefined) {
    await write(deps.db, (tx) => postponeCheck(deps, tx, agent.id))
    return true
  }
  const isHealthy = await isLive(deps, agent, inspection)
  if (deps.agentTurns.isTaken(agent.id)) return false
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

/** Undefined when the engine did not answer. */
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
  return gateway.isLive(toEndpoint(sealer, agent, inspection))
}

/** The row as it is now, when it is still about the agent that was looked at. */
function findUnchanged(tx: Tx, agent: AgentRow): AgentRow | null {
  const current = findAgentRow(tx, agent.id)
  const isSame = current?.status === 'running' && current.startedAt?.getTime() === agent.startedAt?.getTime()
  return isSame ? current : null
}

type Answer = { isHealthy: boolean; hasDied: boolean; now: number }

function judge(before: WatchdogRow, inspection: Inspection | null, { isHealthy, hasDied, now: at }: Answer) {
  const { seen, crashes, isDown, isMisconfigured } = countCrashes(toSeen(before), inspection, hasDied)
  const events: WatchdogEvent[] = []
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
