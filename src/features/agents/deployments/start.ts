import { and, eq, isNotNull } from 'drizzle-orm'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Objects } from '../../../adapters/objects/objects.ts'
import type { Inspection, PullProgress, Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { isPortFree } from '../../../adapters/runtimes/process/spawn.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import { type ImageDeps, mayFetch, notAllowed } from '../operations/images.ts'
import { describeRollback, endOperation, hasNewer, setStep, showDeployment } from '../operations/operations.ts'
import type { OperationRow } from '../operations/tables.ts'
import { recordContainerUse } from '../ownership/ownership.ts'
import { findAgentRow } from '../registry/agents.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { recordRevision } from '../revisions/record.ts'
import { findVersion, type RepairDeps, waitForHealthy } from './health.ts'
import { finishRotation } from './rotate-token.ts'
import { type SpecDeps, toSpec } from './spec.ts'

/** Dependencies of starting an agent on a port. */
export type StartDeps = SpecDeps & { db: Db; runtimes: Pick<Runtimes, 'runtimeOf'>; basePort: number }

/**
 * Dependencies of operations. An operation holds the agent's lock; only a stop or deletion may change the row
 * meanwhile.
 */
export type OperationDeps = RepairDeps &
  StartDeps &
  Base & {
    imageRules: ImageDeps['imageRules']
    findUser: ImageDeps['findUser']
    runtimes: Runtimes
    gateway: Pick<AgentGateway, 'isLive' | 'readiness' | 'version' | 'resetMemory' | 'endPairings'>
    /** Deletes the memory that the platform keeps about an agent. */
    clearMemory(tx: Tx, agentId: string): void
    objects: Objects
  }

/** End of an operation whose agent is healthy; `error` is the failure before a rollback. */
type End = { result: 'succeeded' | 'rolled-back' | 'failed'; error: string | null }

/** An engine that refuses this many ports in a row has another problem. */
const PORT_TRIES = 10
const LOG_LINES = 50

/** Returns whether the agent is still to be started by this operation. */
export function isCurrent(db: Db, operation: OperationRow): boolean {
  return findAgentRow(db, operation.agentId)?.status === 'provisioning' && !hasNewer(db, operation)
}

/**
 * Chooses the runtime at an agent's first deployment; it never changes afterwards.
 * @throws AppError `unavailable` with the command that helps when new agents cannot run.
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

/** Returns the runtime of the operation's agent. @throws AppError `not_found` when it was deleted. */
export function runtimeOf(deps: Pick<OperationDeps, 'db' | 'runtimes'>, { agentId }: { agentId: string }): Runtime {
  const agent = findAgentRow(deps.db, agentId)
  if (!agent) throw new AppError('not_found', 'Agent not found')
  return deps.runtimes.runtimeOf(agent)
}

/** Stops the agent if it runs and keeps its data. */
export async function stopIfDeployed(runtime: Runtime, agentId: string): Promise<void> {
  const inspection = await runtime.inspect(agentId)
  if (inspection && inspection.state !== 'stopped') await runtime.stop(agentId)
}

/**
 * Pulls `image` if it is missing, and shows the progress.
 * @throws AppError as the runtime, `invalid` {code: 'IMAGE_NOT_ALLOWED'} when it is missing and must not be pulled.
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

/** Returns a callback that shows changed progress without waiting for the write. */
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
 * Starts `agent` on its own port, or on another one when a program occupies it. `note` records each step in the same
 * transaction.
 * @returns the agent with its port. @throws AppError as the runtime.
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

/** Starts an agent and waits until it is healthy. @throws AppError with the reason when it is not. */
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
 * Records a healthy agent and ends the operation with `end`. An agent that was stopped or deleted meanwhile is
 * stopped again.
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
    recordRevision(deps, tx, agentId, { author: operation.requestedBy })
    endOperation(tx, operation, end, now)
    showDeployment(tx, agentId, { step: 'running', error: end.error, detail: null, finishedAt: now })
    if (agent?.status !== 'provisioning') return false
    markRunning(tx, operation, end, now)
    return true
  })
  if (!isWanted) await endIfUnwanted(deps, agentId)
}

function markRunning(tx: Tx, operation: OperationRow, end: End, now: Date): void {
  const lastError = end.result === 'rolled-back' ? describeRollback({ ...operation, ...end }) : null
  const running = { status: 'running', startedAt: now, downAt: null, lastError, updatedAt: now } as const
  tx.update(agents).set(running).where(eq(agents.id, operation.agentId)).run()
}

/** Converts an inspection to columns of the agent's row. The image is pinned until an update changes it. */
export function toSeen(inspection: Inspection, version: string | null): Partial<AgentRow> {
  return {
    kind: inspection.kind,
    host: inspection.host === '127.0.0.1' ? null : inspection.host,
    ...(inspection.image && { image: inspection.image }),
    ...(version && { runtimeVersion: version }),
    isolation: inspection.isolation ?? null,
  }
}

/** Stops an agent whose row says stopped, after a concurrent start or an interrupted stop. */
export async function endIfUnwanted(deps: Pick<RepairDeps, 'db' | 'runtimes'>, agentId: string): Promise<void> {
  const agent = findAgentRow(deps.db, agentId)
  // A deleted agent is removed by its own job, which runs after this one.
  if (agent?.status === 'stopped') await stopIfDeployed(deps.runtimes.runtimeOf(agent), agentId)
}

/** Sets status and reason together. A stopped agent stays stopped. */
export function markFailed(tx: Tx, agentId: string, reason: string, now: Date): void {
  const isStopped =
    tx.select({ status: agents.status }).from(agents).where(eq(agents.id, agentId)).get()?.status === 'stopped'
  const failed = { status: 'error', lastError: reason, downAt: null, updatedAt: now } as const
  if (!isStopped) tx.update(agents).set(failed).where(eq(agents.id, agentId)).run()
  const error = isStopped ? 'The agent was stopped' : reason
  showDeployment(tx, agentId, { step: 'failed', error, detail: null, finishedAt: now })
}

/** Returns the last output lines of a failed agent; null when they are not available. */
export async function readLogTail(runtime: Runtime, agentId: string): Promise<string | null> {
  try {
    return (await runtime.logs(agentId, { tail: LOG_LINES })).join('\n') || null
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** Returns the error text for callers; unexpected errors are only logged. */
export function toReason(error: unknown): string {
  return error instanceof AppError ? error.message : 'The agent could not be started'
}

/** Returns the error text for the log, with its cause. */
export function toLogged(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? ` (${errorMessage(error.cause)})` : ''
  return `${errorMessage(error)}${cause}`
}

function toDetail({ status, currentBytes, totalBytes }: PullProgress): string {
  if (currentBytes === null || !totalBytes) return `image: ${status}`
  return `image: ${status} ${Math.floor((10 * currentBytes) / totalBytes) * 10} %`
}

const LAST_PORT = 65_535

/**
 * Leases the lowest port from `basePort` that no agent holds and `taken` does not contain; an agent keeps its own.
 * @throws AppError `unavailable` when no port is left.
 */
function leasePort(tx: Tx, agentId: string, options: { basePort: number; taken: ReadonlySet<number> }): number {
  const { leased, own } = listLeases(tx, agentId)
  if (own && !options.taken.has(own)) return own
  const port = findUnleased(leased, options)
  tx.update(agents).set({ port }).where(eq(agents.id, agentId)).run()
  return port
}

/**
 * Adds ports to `taken` that other programs hold, up to the first free one. The port on which the agent itself runs
 * counts as free.
 */
async function findTakenPorts(
  deps: { db: Db; runtimes: Pick<Runtimes, 'runtimeOf'>; basePort: number },
  agent: AgentRow,
  taken: Set<number>,
): Promise<void> {
  const inspection = await deps.runtimes.runtimeOf(agent).inspect(agent.id)
  const isUp = inspection?.state === 'running' || inspection?.state === 'restarting'
  for (;;) {
    // Read the leases again each time: probing occupies the port briefly and must not disturb an agent that just
    // leased it.
    const { leased, own } = listLeases(deps.db, agent.id)
    const isOwn = own !== null && !taken.has(own)
    const port = isOwn ? own : findUnleased(leased, { basePort: deps.basePort, taken })
    if (isOwn && isUp && inspection.port === port) return
    if (await isPortFree(port)) return
    taken.add(port)
  }
}

function listLeases(db: Db, agentId: string): { leased: ReadonlySet<number | null>; own: number | null } {
  const rows = db.select({ port: agents.port }).from(agents).where(isNotNull(agents.port)).all()
  const held = and(eq(agents.id, agentId), isNotNull(agents.port))
  const own = db.select({ port: agents.port }).from(agents).where(held).get()?.port ?? null
  return { leased: new Set(rows.map(({ port }) => port)), own }
}

function findUnleased(
  leased: ReadonlySet<number | null>,
  { basePort, taken }: { basePort: number; taken: ReadonlySet<number> },
): number {
  for (let port = basePort; port <= LAST_PORT; port++) if (!leased.has(port) && !taken.has(port)) return port
  throw new AppError('unavailable', 'No port is left for another agent')
}
