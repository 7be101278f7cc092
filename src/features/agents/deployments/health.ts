import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { AgentEndpoint } from '../../../adapters/gateways/http.ts'
import type { Inspection } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { pause } from '../../../jobs/runner.ts'
import { type AgentLocks, OUTPUT_FOLLOWS } from '../operations/operations.ts'
import { findAgentRow, openTokens } from '../registry/agents.ts'
import type { AgentRow } from '../registry/tables.ts'
import { type SpecDeps, toSpec } from './spec.ts'

export type HealthDeps = {
  runtimes: Pick<Runtimes, 'runtimeOf'>
  gateway: Pick<AgentGateway, 'isLive' | 'readiness'>
  sealer: Sealer
}

/**
 * Health of a container. `healthy`: runs and responds. `starting`: runs but did not respond after all tries. `stopped`:
 * exited. `unhealthy`: anything else, including a missing container.
 */
type ContainerHealth = 'healthy' | 'starting' | 'stopped' | 'unhealthy'

type ProbedHealth = { health: ContainerHealth; inspection: Inspection | null }

const PROBE_TRIES = 3
const PROBE_PAUSE_MS = 200
/** Overall limit for a healthy start. Polling starts fast, because most agents start quickly. */
const HEALTH_TIMEOUT_MS = 60_000
/** OpenClaw starts in ten seconds, but takes over a minute when memory is short. */
const OPENCLAW_TIMEOUT_MS = 180_000
const HEALTH_POLL_MS = 2000
const FIRST_POLL_MS = 25
/** An agent that exits this often during its start will not become healthy. */
const MAX_ENDS = 5
const OUTPUT_LINES = 5
const OUTPUT_LINE_CHARACTERS = 300

/** Probes like `containerHealth`, but lets engine errors through. @throws AppError as the runtime. */
async function probeHealth(deps: HealthDeps, agent: AgentRow, signal: AbortSignal): Promise<ProbedHealth> {
  const inspection = await deps.runtimes.runtimeOf(agent).inspect(agent.id)
  if (!inspection) return { health: 'unhealthy', inspection }
  if (inspection.state === 'stopped' || inspection.state === 'exited') return { health: 'stopped', inspection }
  if (inspection.state === 'restarting') return { health: 'unhealthy', inspection }
  for (let tries = 1; ; tries++) {
    if (await isAnswering(deps, toInspectedEndpoint(deps.sealer, agent, inspection)))
      return { health: 'healthy', inspection }
    if (tries >= PROBE_TRIES || signal.aborted) return { health: 'starting', inspection }
    await pause(PROBE_PAUSE_MS, signal)
  }
}

/** Returns the health of an agent's container; `unhealthy` when the engine does not respond. */
export async function containerHealth(
  deps: HealthDeps,
  agent: AgentRow,
  signal: AbortSignal,
): Promise<ContainerHealth> {
  try {
    return (await probeHealth(deps, agent, signal)).health
  } catch (error) {
    if (error instanceof AppError) return 'unhealthy'
    throw error
  }
}

/**
 * Waits until the agent responds, at most 60 s (180 s for OpenClaw) or `timeoutMs`, polling at least every `pollMs`.
 * Stops early when `isWanted` returns false.
 * @returns the last inspection.
 * @throws AppError `unavailable` when it ends or is not healthy in time, the signal's reason when that aborts.
 */
export async function waitForHealthy(
  deps: HealthDeps,
  agent: AgentRow,
  options: { signal: AbortSignal; isWanted?: () => boolean; timeoutMs?: number; pollMs?: number },
): Promise<Inspection> {
  const { signal, isWanted = () => true, pollMs = HEALTH_POLL_MS } = options
  const startedAt = performance.now()
  let timeoutMs = options.timeoutMs ?? HEALTH_TIMEOUT_MS
  const leftMs = () => startedAt + timeoutMs - performance.now()
  let exitCode: number | null = null
  const never = async (what: string) => {
    const code = exitCode === null ? '' : ` (exit code ${exitCode})`
    return new AppError('unavailable', `${what}${code}${await describeOutput(deps, agent)}`)
  }
  for (let pauseMs = FIRST_POLL_MS; leftMs() > 0; pauseMs = Math.min(pauseMs * 2, pollMs)) {
    signal.throwIfAborted()
    if (!isWanted()) throw new AppError('conflict', 'Something else was asked of the agent meanwhile')
    const inspection = await deps.runtimes.runtimeOf(agent).inspect(agent.id)
    exitCode = inspection?.exitCode ?? exitCode
    if (inspection?.kind === 'openclaw') timeoutMs = options.timeoutMs ?? OPENCLAW_TIMEOUT_MS
    if (inspection && (await isAnswering(deps, toInspectedEndpoint(deps.sealer, agent, inspection)))) return inspection
    if (!inspection || inspection.state === 'exited' || inspection.state === 'stopped')
      throw await never('The agent ended before it was healthy')
    if (inspection.restarts >= MAX_ENDS)
      throw await never(`The agent ended ${inspection.restarts} times before it was healthy`)
    await pause(Math.min(pauseMs, Math.max(0, leftMs())), signal)
  }
  throw await never(`The agent was not healthy within ${timeoutMs / 1000} s`)
}

/** Returns the last output lines of an agent as the end of an error message; empty when there are none. */
async function describeOutput(deps: Pick<HealthDeps, 'runtimes'>, agent: AgentRow): Promise<string> {
  try {
    const lines = await deps.runtimes.runtimeOf(agent).logs(agent.id, { tail: OUTPUT_LINES })
    if (lines.length === 0) return ''
    return `${OUTPUT_FOLLOWS}${lines.map((line) => line.slice(0, OUTPUT_LINE_CHARACTERS)).join('\n')}`
  } catch (error) {
    if (error instanceof AppError) return ''
    throw error
  }
}

/** Returns the agent's version from its image label or its gateway; null when neither says. */
export async function findVersion(
  gateway: Pick<AgentGateway, 'version'>,
  sealer: Sealer,
  agent: AgentRow,
  inspection: Inspection,
): Promise<string | null> {
  if (inspection.version) return inspection.version
  try {
    return await gateway.version(toInspectedEndpoint(sealer, agent, inspection))
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** OpenClaw answers `/healthz` before it can chat; only `/readyz` says when it can. */
async function isAnswering(deps: HealthDeps, endpoint: AgentEndpoint): Promise<boolean> {
  if (!(await deps.gateway.isLive(endpoint))) return false
  if (endpoint.kind !== 'openclaw') return true
  try {
    return (await deps.gateway.readiness(endpoint)).ready
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

/** Returns the gateway address of an inspected agent. */
export function toInspectedEndpoint(sealer: Sealer, agent: AgentRow, { host, port, kind }: Inspection): AgentEndpoint {
  return { baseUrl: `http://${host}:${port}`, gatewayToken: openTokens(sealer, agent).gatewayToken, kind }
}

export type RepairDeps = SpecDeps & {
  db: Db
  gateway: HealthDeps['gateway']
  agentLocks: AgentLocks
  watchdog: { killWaitSeconds: number; restartWaitSeconds: number }
}

/** OpenClaw repairs its state before it listens, which takes half a minute. */
const OPENCLAW_MEND_MS = 60_000

/**
 * Kills an agent that should run, waits, restarts it with a repair of its own state, and waits until it is healthy.
 * Holds the agent's lock; a user's stop, deletion or restart in the meantime wins.
 * @returns whether the agent became healthy and is still wanted. @throws AppError as the engine, the signal's reason.
 */
export function repairAgent(deps: RepairDeps, agentId: string, signal: AbortSignal): Promise<boolean> {
  return deps.agentLocks.run(agentId, () => runRepair(deps, agentId, 'running', signal))
}

/** Runs `repairAgent` for a caller who holds the agent's lock, as long as its status is `wanted`. */
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
  // A plain restart would keep the old token, so changed tokens need a new deployment.
  if (isThere && agent.tokensChangedAt === null) await runtime.start(agentId, { repair: true })
  else if (agent.port !== null) await runtime.deploy(await toSpec(deps, agent, agent.port))
  const isVerified = await isHealthyInTime(deps, agent, isWanted, signal)
  // A stop may have arrived while the agent started.
  if (findAgentRow(deps.db, agentId)?.status === 'stopped') await runtime.stop(agentId)
  return isVerified && isWanted()
}

/** Returns whether an agent that was started becomes healthy while it is wanted. @throws the signal's reason. */
export async function isHealthyInTime(deps: RepairDeps, agent: AgentRow, isWanted: () => boolean, signal: AbortSignal) {
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
