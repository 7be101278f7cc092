import { eq } from 'drizzle-orm'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Inspection, PullProgress, Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { type ImageDeps, mayFetch, notAllowed } from '../operations/images.ts'
import { describeReturn, endOperation, hasNewer, setStep, showDeployment } from '../operations/operations.ts'
import { findTakenPorts, leasePort } from '../operations/ports.ts'
import type { OperationRow } from '../operations/tables.ts'
import { recordContainerUse } from '../ownership/ownership.ts'
import { findAgentRow } from '../registry/agents.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { findVersion, type RepairDeps, waitForHealthy } from './health.ts'
import { finishRotation } from './rotate-token.ts'
import { type SpecDeps, toSpec } from './spec.ts'

/** What starting an agent on a port needs. */
export type StartDeps = SpecDeps & { db: Db; runtimes: Pick<Runtimes, 'runtimeOf'>; basePort: number }

/** What operations need; the rows are theirs alone while they have the agent's turn, except for a stop and a deletion. */
export type OperationDeps = RepairDeps &
  StartDeps & {
    imageRules: ImageDeps['imageRules']
    findUser: ImageDeps['findUser']
    clock: Clock
    log: Log
    runtimes: Runtimes
    gateway: Pick<AgentGateway, 'isLive' | 'readiness' | 'version' | 'resetMemory' | 'endPairings'>
    /** Forgets what is kept about an agent beside it. */
    clearMemory(tx: Tx, agentId: string): void
    /** A folder for each agent's snapshots. */
    snapshotDir: string
  }

/** How an operation ended whose agent is healthy; `error` is what it failed at before that. */
type End = { result: 'succeeded' | 'rolled-back' | 'failed'; error: string | null }

/** An engine that refuses this many ports in a row has another problem. */
const PORT_TRIES = 10
const LOG_LINES = 50

/** Is the agent still to be brought up, and by this very operation? */
export function isCurrent(db: Db, operation: OperationRow): boolean {
  return findAgentRow(db, operation.agentId)?.status === 'provisioning' && !hasNewer(db, operation)
}

/**
 * Chooses the runtime of an agent that is deployed for the first time (decisions, 41).
 * @throws AppError `unavailable` with the command that helps when new agents cannot run now.
 */
export async function chooseRuntime(
  deps: Pick<OperationDeps, 'clock' | 'db' | 'runtimes'>,
  agentId: string,
): Promise<void> {
  if (findAgentRow(deps.db, agentId)?.runtime !== null) return
  const reason = await deps.runtimes.whyNotNew()
  if (reason !== null) throw new AppError('unavailable', reason)
  const runtime = await deps.runtimes.choose()
  await write(deps.db, (tx) => {
    tx.update(agents).set({ runtime }).where(eq(agents.id, agentId)).run()
    recordContainerUse(tx, runtime, deps.clock.now())
  })
}

/** What runs the agent that `operation` is about. @throws AppError `not_found` when it was deleted. */
export function runtimeOf(deps: Pick<OperationDeps, 'db' | 'runtimes'>, { agentId }: { agentId: string }): Runtime {
  const agent = findAgentRow(deps.db, agentId)
  if (!agent) throw new AppError('not_found', 'Agent not found')
  return deps.runtimes.runtimeOf(agent)
}

/** Ends what runs for the agent and keeps its data; fine when nothing does. */
export async function stopIfDeployed(runtime: Runtime, agentId: string): Promise<void> {
  const inspection = await runtime.inspect(agentId)
  if (inspection && inspection.state !== 'stopped') await runtime.stop(agentId)
}

/**
 * Makes sure that `image` is here. How far that has come is shown, now and then.
 * @throws AppError of the runtime, `invalid` {code: 'IMAGE_NOT_ALLOWED'} when it is not here and must not be fetched.
 */
export async function pullOperationImage(
  deps: OperationDeps,
  operation: OperationRow,
  image: string | null,
  signal: AbortSignal,
): Promise<void> {
  if (!image) return
  const runtime = runtimeOf(deps, operation)
  await write(deps.db, (tx) => setStep(tx, operation, 'pull'))
  if (mayFetch(deps, operation.requestedBy, image)) await runtime.pull(image, createProgress(deps, operation), signal)
  else if (!(await runtime.findImage(image))) throw notAllowed(image)
}

/** Shows what is new of a progress. Nobody waits for it: the next piece follows soon. */
function createProgress(deps: OperationDeps, { agentId }: OperationRow): (progress: PullProgress) => void {
  let shown = ''
  return (progress) => {
    const detail = toDetail(progress)
    if (detail === shown) return
    shown = detail
    write(deps.db, (tx) => showDeployment(tx, agentId, { detail })).catch((error) =>
      deps.log.warn({ agent: agentId, error: errorMessage(error) }, 'progress cannot be shown'),
    )
  }
}

/**
 * Starts `agent` as its row says, on a port that nobody else has: its own, or another one when a program took that. `note`
 * is told each step in the closure that records it.
 * @returns the row with its port. @throws AppError of the runtime.
 */
export async function startOnFreePort(
  deps: StartDeps,
  agent: AgentRow,
  note: (tx: Tx, step: 'port' | 'starting') => void,
): Promise<AgentRow & { port: number }> {
  const taken = new Set<number>()
  for (let refusals = 0; ; ) {
    await findTakenPorts(deps, agent, taken)
    const port = await write(deps.db, (tx) => {
      note(tx, 'port')
      return leasePort(tx, agent.id, { basePort: deps.basePort, taken })
    })
    const placed = { ...agent, port }
    await write(deps.db, (tx) => note(tx, 'starting'))
    try {
      await deps.runtimes.runtimeOf(agent).deploy(await toSpec(deps, placed, port))
      return placed
    } catch (error) {
      const isTaken = error instanceof AppError && error.extra.code === 'PORT_TAKEN'
      if (!isTaken || ++refusals >= PORT_TRIES) throw error
      taken.add(port)
    }
  }
}

/** The steps from an agent that does not run to one that is healthy. @throws AppError with the reason when it is not. */
export async function bringUp(
  deps: OperationDeps,
  operation: OperationRow,
  agent: AgentRow,
  options: { signal: AbortSignal; isWanted: () => boolean },
): Promise<Inspection> {
  const placed = await startOnFreePort(deps, agent, (tx, step) => setStep(tx, operation, step))
  await write(deps.db, (tx) => setStep(tx, operation, 'health'))
  const inspection = await waitForHealthy(deps, placed, options)
  await finishRotation(deps, placed, inspection)
  return inspection
}

/**
 * Writes what was seen of a healthy agent and ends the operation with `end`. Whoever stopped or deleted the agent meanwhile
 * has the last word: then it is ended again.
 */
export async function commit(
  deps: OperationDeps,
  operation: OperationRow,
  inspection: Inspection,
  end: End = { result: 'succeeded', error: null },
): Promise<void> {
  const { agentId } = operation
  const before = findAgentRow(deps.db, agentId)
  const version = before && (await findVersion(deps.gateway, deps.sealer, before, inspection))
  const now = deps.clock.now()
  const isWanted = await write(deps.db, (tx) => {
    const agent = tx.update(agents).set(toSeen(inspection, version)).where(eq(agents.id, agentId)).returning().get()
    endOperation(tx, operation, end, now)
    showDeployment(tx, agentId, { step: 'running', error: end.error, detail: null, finishedAt: now })
    if (agent?.status !== 'provisioning') return false
    markRunning(tx, operation, end, now)
    return true
  })
  if (!isWanted) await endIfUnwanted(deps, agentId)
}

function markRunning(tx: Tx, operation: OperationRow, end: End, now: Date): void {
  const lastError = end.result === 'rolled-back' ? describeReturn({ ...operation, ...end }) : null
  const running = { status: 'running', startedAt: now, downAt: null, lastError, updatedAt: now } as const
  tx.update(agents).set(running).where(eq(agents.id, operation.agentId)).run()
}

/** What an inspection tells of an agent, for its row. The image is pinned: another one comes by an update. */
export function toSeen(inspection: Inspection, version: string | null): Partial<AgentRow> {
  return {
    kind: inspection.kind,
    host: inspection.host === '127.0.0.1' ? null : inspection.host,
    ...(inspection.image && { image: inspection.image }),
    ...(version && { runtimeVersion: version }),
  }
}

/** Undoes a start that crossed with a stop, and a stop that a crash cut short. */
export async function endIfUnwanted(deps: Pick<RepairDeps, 'db' | 'runtimes'>, agentId: string): Promise<void> {
  const agent = findAgentRow(deps.db, agentId)
  // What a deleted one left is removed by the job of its deletion, which has its turn after this.
  if (agent?.status === 'stopped') await stopIfDeployed(deps.runtimes.runtimeOf(agent), agentId)
}

/** Status and reason together, so that nobody sees one without the other. An agent that was stopped stays so. */
export function markFailed(tx: Tx, agentId: string, reason: string, now: Date): void {
  const isStopped =
    tx.select({ status: agents.status }).from(agents).where(eq(agents.id, agentId)).get()?.status === 'stopped'
  const failed = { status: 'error', lastError: reason, downAt: null, updatedAt: now } as const
  if (!isStopped) tx.update(agents).set(failed).where(eq(agents.id, agentId)).run()
  const error = isStopped ? 'The agent was stopped' : reason
  showDeployment(tx, agentId, { step: 'failed', error, detail: null, finishedAt: now })
}

/** The last lines of an agent that failed, null when they cannot be had. */
export async function readLogTail(runtime: Runtime, agentId: string): Promise<string | null> {
  try {
    return (await runtime.logs(agentId, { tail: LOG_LINES })).join('\n') || null
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** The sentence that callers are told of a failure; what is not ours is only logged. */
export function toReason(error: unknown): string {
  return error instanceof AppError ? error.message : 'The agent could not be started'
}

/** The sentence for the log, with the engine's own words where it had some. */
export function toLogged(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? ` (${errorMessage(error.cause)})` : ''
  return `${errorMessage(error)}${cause}`
}

function toDetail({ status, currentBytes, totalBytes }: PullProgress): string {
  if (currentBytes === null || !totalBytes) return `image: ${status}`
  return `image: ${status} ${Math.floor((10 * currentBytes) / totalBytes) * 10} %`
}
