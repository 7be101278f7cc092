import { and, eq, ne } from 'drizzle-orm'
import type { AgentGateway } from '../../adapters/agent-gateway.ts'
import type { AgentSpec, Runtime } from '../../adapters/runtime.ts'
import type { Clock } from '../../core/clock.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import { pause } from '../../jobs/runner.ts'
import { type AgentRow, agents } from '../agents/tables.ts'
import { leasePort } from './ports.ts'
import { type SpecDeps, toSpec } from './spec.ts'
import { type DeploymentRow, deployments } from './tables.ts'

export type RunDeps = SpecDeps & {
  db: Db
  clock: Clock
  log: Log
  runtime: Runtime
  gateway: Pick<AgentGateway, 'isLive'>
  basePort: number
}

const PORT_TRIES = 10
/** Spec 4.9: `waitForHealthy` polls every 2 s for 60 s at most; it begins faster, because most agents are. */
const HEALTH_TIMEOUT_MS = 60_000
const HEALTH_POLL_MS = 2000
const FIRST_POLL_MS = 25

/**
 * Brings an agent to `running`, step by step, each recorded. Safe to run again after a crash at any step: the port is
 * kept, and a runtime that already runs this spec does nothing. A failure is an outcome: `error`, with its reason.
 */
export async function runDeployment(deps: RunDeps, agentId: string, signal: AbortSignal): Promise<void> {
  const agent = deps.db.select().from(agents).where(eq(agents.id, agentId)).get()
  if (!agent) return deps.runtime.remove(agentId)
  if (agent.status !== 'provisioning') return
  const requestedAt = requestTime(deps.db, agentId)
  try {
    const spec = await startOnFreePort(deps, agent)
    await record(deps, agentId, { step: 'health' })
    await waitForHealthy(deps, spec, signal)
    await finish(deps, agentId)
  } catch (error) {
    // The platform stops, not the deployment: its job is run again by the next start.
    if (signal.aborted) throw error
    deps.log.error({ agent: agentId, error: errorMessage(error) }, 'deployment failed')
    const reason = error instanceof AppError ? error.message : 'The agent could not be started'
    await write(deps.db, (tx) => {
      // A restart asked for meanwhile has ended this attempt: its own job decides.
      if (requestTime(tx, agentId) === requestedAt) markFailed(tx, agentId, reason, deps.clock.now())
    })
    await endIfUnwanted(deps, agentId)
  }
}

/** Another program may hold a leased port: then the next one is leased, at most ten times. */
async function startOnFreePort(deps: RunDeps, agent: AgentRow): Promise<AgentSpec> {
  const taken = new Set<number>()
  for (;;) {
    const port = await write(deps.db, (tx) => {
      setStep(tx, agent.id, { step: 'port' })
      return leasePort(tx, agent.id, { basePort: deps.basePort, taken })
    })
    const spec = toSpec(deps, agent, port)
    await record(deps, agent.id, { step: 'starting' })
    try {
      await deps.runtime.deploy(spec)
      return spec
    } catch (error) {
      const isTaken = error instanceof AppError && error.extra.code === 'PORT_TAKEN'
      if (!isTaken || taken.size + 1 >= PORT_TRIES) throw error
      taken.add(port)
    }
  }
}

/** @throws AppError `unavailable` when the agent ends or does not answer in time. */
async function waitForHealthy(deps: RunDeps, spec: AgentSpec, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + HEALTH_TIMEOUT_MS
  const endpoint = { baseUrl: `http://127.0.0.1:${spec.port}`, gatewayToken: spec.secrets.GATEWAY_TOKEN ?? '' }
  for (let pauseMs = FIRST_POLL_MS; performance.now() < deadline; pauseMs = Math.min(pauseMs * 2, HEALTH_POLL_MS)) {
    signal.throwIfAborted()
    if (await deps.gateway.isLive(endpoint)) return
    const state = (await deps.runtime.inspect(spec.id))?.state
    if (state === undefined || state === 'exited' || state === 'stopped') {
      throw new AppError('unavailable', 'The agent ended before it was healthy')
    }
    await pause(pauseMs, signal)
  }
  throw new AppError('unavailable', `The agent was not healthy within ${HEALTH_TIMEOUT_MS / 1000} s`)
}

/** Whoever stopped or deleted the agent meanwhile has the last word. */
async function finish(deps: RunDeps, agentId: string): Promise<void> {
  const now = deps.clock.now()
  const isWanted = await write(deps.db, (tx) => {
    setStep(tx, agentId, { step: 'running', finishedAt: now })
    const { changes } = tx
      .update(agents)
      .set({ status: 'running', startedAt: now, updatedAt: now })
      .where(and(eq(agents.id, agentId), eq(agents.status, 'provisioning')))
      .run()
    return changes > 0
  })
  if (!isWanted) await endIfUnwanted(deps, agentId)
}

/** Undoes a start that crossed with a stop or a deletion, and a stop that a crash cut short. */
export async function endIfUnwanted(deps: Pick<RunDeps, 'db' | 'runtime'>, agentId: string): Promise<void> {
  const agent = deps.db.select({ status: agents.status }).from(agents).where(eq(agents.id, agentId)).get()
  if (!agent) return deps.runtime.remove(agentId)
  if (agent.status !== 'stopped') return
  const inspection = await deps.runtime.inspect(agentId)
  if (inspection && inspection.state !== 'stopped') await deps.runtime.stop(agentId)
}

/** Status and reason together, so that nobody sees one without the other. An agent that was stopped stays so. */
export function markFailed(tx: Tx, agentId: string, reason: string, now: Date): void {
  const { changes } = tx
    .update(agents)
    .set({ status: 'error', updatedAt: now })
    .where(and(eq(agents.id, agentId), ne(agents.status, 'stopped')))
    .run()
  setStep(tx, agentId, { step: 'failed', error: changes > 0 ? reason : 'The agent was stopped', finishedAt: now })
}

function requestTime(db: Db, agentId: string): number | undefined {
  const columns = { requestedAt: deployments.requestedAt }
  return db.select(columns).from(deployments).where(eq(deployments.agentId, agentId)).get()?.requestedAt.getTime()
}

async function record(deps: RunDeps, agentId: string, change: Partial<DeploymentRow>): Promise<void> {
  await write(deps.db, (tx) => setStep(tx, agentId, change))
}

function setStep(tx: Tx, agentId: string, change: Partial<DeploymentRow>): void {
  tx.update(deployments).set(change).where(eq(deployments.agentId, agentId)).run()
}
