import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { pause } from '../../../jobs/runner.ts'
import type { AgentTurns } from '../operations/turns.ts'
import { findAgentRow } from '../registry/list.ts'
import type { AgentRow } from '../registry/tables.ts'
import { type HealthDeps, waitForHealthy } from './health.ts'
import { type SpecDeps, toSpec } from './spec.ts'

export type RepairDeps = SpecDeps & {
  db: Db
  gateway: HealthDeps['gateway']
  agentTurns: AgentTurns
  watchdog: { killWaitSeconds: number; restartWaitSeconds: number }
}

/** OpenClaw mends its state before it listens, which takes it half a minute. */
const OPENCLAW_MEND_MS = 60_000

/**
 * The sequence of Interface 3 for an agent that should run: kill, wait, start anew with the mending of its own state, wait until
 * it is healthy. Nothing else changes what runs for the agent meanwhile, but a user's stop, deletion or restart has the
 * last word: then it is false.
 * @returns whether the agent was seen healthy. @throws AppError of an engine that does not answer, the signal's reason.
 */
export function repairAgent(deps: RepairDeps, agentId: string, signal: AbortSignal): Promise<boolean> {
  return deps.agentTurns.take(agentId, () => runRepair(deps, agentId, 'running', signal))
}

/** `repairAgent` for one who has the agent's turn; it goes on as long as the agent's row says `wanted`. */
export async function runRepair(
  deps: RepairDeps,
  agentId: string,
  wanted: AgentRow['status'],
  signal: AbortSignal,
): Promise<boolean> {
  const isWanted = () => findAgentRow(deps.db, agentId)?.status === wanted
  const before = findAgentRow(deps.db, agentId)
  if (!before || !isWanted()) return false
  const runtime = deps.runtimes.runtimeOf(before)
  const isThere = (await runtime.inspect(agentId)) !== null
  if (isThere) await runtime.kill(agentId)
  await pause(deps.watchdog.killWaitSeconds * 1000, signal)
  signal.throwIfAborted()
  const agent = findAgentRow(deps.db, agentId)
  if (!agent || !isWanted()) return false
  // What lies there is not to come up with a token that has been replaced since.
  if (isThere && agent.tokensChangedAt === null) await runtime.start(agentId, { repair: true })
  else if (agent.port !== null) await runtime.deploy(await toSpec(deps, agent, agent.port))
  const isVerified = await isHealthyInTime(deps, agent, isWanted, signal)
  // The start may have crossed with a stop.
  if (findAgentRow(deps.db, agentId)?.status === 'stopped') await runtime.stop(agentId)
  return isVerified && isWanted()
}

async function isHealthyInTime(deps: RepairDeps, agent: AgentRow, isWanted: () => boolean, signal: AbortSignal) {
  try {
    const mendMs = agent.kind === 'openclaw' ? OPENCLAW_MEND_MS : 0
    const timeoutMs = deps.watchdog.restartWaitSeconds * 1000 + mendMs
    await waitForHealthy(deps, agent, { signal, isWanted, timeoutMs })
    return true
  } catch (error) {
    if (error instanceof AppError && !signal.aborted) return false
    throw error
  }
}
