import { and, eq, inArray, lte, notExists, sql } from 'drizzle-orm'
import type { Inspection, Runtime, RuntimeName } from '../../../adapters/runtimes/contract/runtime.ts'
import { inLanes } from '../../../core/concurrency/keyed-queue.ts'
import { errorMessage } from '../../../core/errors.ts'
import { inRanges } from '../../../db/pages.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { jobs } from '../../../jobs/tables.ts'
import { enqueueDeployment } from '../deployments/request.ts'
import { finishRotation } from '../deployments/rotate-token.ts'
import { toSpec } from '../deployments/spec.ts'
import { endIfUnwanted, markFailed, type OperationDeps, stopIfDeployed, toSeen } from '../deployments/start.ts'
import { deployKey } from '../operations/operations.ts'
import { AGENTS_NEWEST_FIRST, findAgentRow } from '../registry/agents.ts'
import { markDown, watchAgentEvents } from '../registry/status.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { describeEnd, followOutages, type OutageDeps } from './outages.ts'

/** A new agent's deployment is requested well within this time. */
const FORGOTTEN_MS = 60_000
/** Within this time the watchdog handles an agent that is down; afterwards reconciliation deploys it. */
const DOWN_MS = 60_000
/** Agents inspected concurrently. */
const LANES = 32
const NEVER = new AbortController().signal

/** When each agent that should run was first seen down. */
type Down = Map<string, number>

/**
 * Makes the runtimes agree with the rows. `running`: updates agents that run and starts those that do not; an agent
 * that exited with a configuration error is marked. `stopped` and `sleeping`: stops processes that a crash left
 * running. `provisioning`: requests a lost deployment again. An engine that does not respond changes no status; locked
 * agents are skipped. No further agent is checked after `signal` aborts.
 */
export function reconcileAgents(deps: OperationDeps, signal = NEVER): Promise<void> {
  return reconcileAll(deps, null, signal)
}

/**
 * Creates a `reconcileAgents` for a running platform: leaves an agent that is down to the watchdog for a minute, and
 * removes orphans.
 */
export function createReconciler(deps: OperationDeps): (signal?: AbortSignal) => Promise<void> {
  const down: Down = new Map()
  const removeOrphans: RemoveOrphans = createOrphanFinder(deps)
  return async (signal = NEVER) => {
    await reconcileAll(deps, down, signal)
    if (!signal.aborted) await removeOrphans()
  }
}

async function reconcileAll(deps: OperationDeps, down: Down | null, signal: AbortSignal): Promise<void> {
  await resumeForgotten(deps)
  const ids = new Set<string>()
  for await (const isInRange of inRanges(deps.db, AGENTS_NEWEST_FIRST, undefined, signal)) {
    const isSettled = and(isInRange, inArray(agents.status, ['running', 'stopped']))
    for (const { id } of deps.db.select({ id: agents.id }).from(agents).where(isSettled).all()) ids.add(id)
  }
  for (const id of down?.keys() ?? []) if (!ids.has(id)) down?.delete(id)
  const reconcile = (id: string) => reconcileAgent(deps, id, down)
  await inLanes(ids, LANES, reconcile, signal)
  if (!signal.aborted) await inLanes(await listRunningSleepers(deps), LANES, reconcile, signal)
}

/**
 * Lists agents that run although their rows say `sleeping`, with one call per runtime. A runtime that does not respond
 * is asked again next time.
 */
async function listRunningSleepers({ db, runtimes, log }: OperationDeps): Promise<string[]> {
  const { id, runtime } = agents
  const asleep = db.select({ id, runtime }).from(agents).where(eq(agents.status, 'sleeping')).all()
  const sleepless: string[] = []
  for (const [name, rows] of Map.groupBy(asleep, (row) => row.runtime)) {
    try {
      const there = await runtimes.runtimeOf({ runtime: name }).list()
      const up = new Set(there.flatMap((one) => (one.state === 'stopped' ? [] : [one.id])))
      sleepless.push(...rows.flatMap((row) => (up.has(row.id) ? [row.id] : [])))
    } catch (error) {
      log.warn({ runtime: name, error: errorMessage(error) }, 'cannot tell whether sleeping agents run')
    }
  }
  return sleepless
}

/** Requests the deployment of rows in `provisioning` without a job. */
async function resumeForgotten(deps: OperationDeps): Promise<void> {
  const since = new Date(deps.clock.now().getTime() - FORGOTTEN_MS)
  const unfinished = deps.db
    .select({ id: jobs.id })
    .from(jobs)
    .where(eq(jobs.key, sql`${deployKey('')} || ${agents.id}`))
  const isForgotten = and(eq(agents.status, 'provisioning'), lte(agents.updatedAt, since), notExists(unfinished))
  if (!deps.db.select({ id: agents.id }).from(agents).where(isForgotten).limit(1).get()) return
  await write(deps.db, (tx) => {
    const forgotten = tx.select({ id: agents.id }).from(agents).where(isForgotten).all()
    for (const { id } of forgotten) enqueueDeployment(deps, tx, id)
  })
}

/** Reconciles one agent and logs failures. With `down` it may be down for a while first. */
async function reconcileAgent(deps: OperationDeps, agentId: string, down: Down | null): Promise<void> {
  if (deps.agentLocks.isLocked(agentId)) return
  try {
    await deps.agentLocks.run(agentId, async () => {
      const agent = findAgentRow(deps.db, agentId)
      if (!agent) return
      if (agent.status === 'running') await keepRunning(deps, agent, down)
      if (agent.status === 'sleeping') await stopIfDeployed(deps.runtimes.runtimeOf(agent), agentId)
      await endIfUnwanted(deps, agentId)
    })
  } catch (error) {
    deps.log.error({ agent: agentId, error: errorMessage(error) }, 'cannot bring an agent to what its row says')
  }
}

async function keepRunning(deps: OperationDeps, agent: AgentRow, down: Down | null): Promise<void> {
  if (agent.port === null) return
  const runtime = deps.runtimes.runtimeOf(agent)
  const inspection = await runtime.inspect(agent.id)
  if (inspection?.state === 'running') {
    down?.delete(agent.id)
    await runtime.deploy(await toSpec(deps, agent, agent.port))
    await noteWhatIsSeen(deps, agent, inspection)
    await finishRotation(deps, agent, inspection)
  } else if (mayBeDown(deps, agent.id, inspection, down)) {
    // No event may have reported the outage; the check of outages sees the recovery.
    await write(deps.db, (tx) => markDown(tx, agent.id, describeEnd(inspection), deps.clock.now()))
    // The platform's address may have changed, which keeps the agent from starting.
    if (inspection?.state === 'restarting') await runtime.renew(await toSpec(deps, agent, agent.port))
  } else if (inspection?.state === 'exited') {
    const reason = 'The agent ended with a configuration error'
    await write(deps.db, (tx) => markFailed(tx, agent.id, reason, deps.clock.now()))
  } else {
    await runtime.deploy(await toSpec(deps, agent, agent.port))
  }
}

/** Returns whether the agent needs no action: it restarts on its own, or the watchdog still waits. */
function mayBeDown(deps: OperationDeps, agentId: string, inspection: Inspection | null, down: Down | null): boolean {
  if (inspection?.state === 'restarting') return true
  if (down === null) return false
  const now = deps.clock.now().getTime()
  const since = down.get(agentId) ?? now
  down.set(agentId, since)
  return now - since < DOWN_MS
}

async function noteWhatIsSeen(deps: OperationDeps, agent: AgentRow, inspection: Inspection): Promise<void> {
  const { kind = agent.kind, host = null, isolation = null } = toSeen(inspection, null)
  if (kind === agent.kind && host === agent.host && Bun.deepEquals(isolation, agent.isolation)) return
  await write(deps.db, (tx) => tx.update(agents).set({ kind, host, isolation }).where(eq(agents.id, agent.id)).run())
}

/** Removes orphans that have been seen for long enough. */
type RemoveOrphans = () => Promise<void>

/** Deletions finish within a minute, so an orphan of this age was forgotten. */
const ORPHAN_MS = 600_000
/**
 * Creates the check for orphans: agents of this instance in a runtime without a row for it. An orphan is removed after
 * ten minutes, and only while other agents exist, because an empty table suggests a lost database. Its state is kept as
 * a snapshot.
 */
function createOrphanFinder(deps: OperationDeps): RemoveOrphans {
  const seenSince = new Map<string, number>()
  return async () => {
    const homes = new Map<string, RuntimeName | null>()
    for await (const isInRange of inRanges(deps.db, AGENTS_NEWEST_FIRST, undefined, NEVER)) {
      const rows = deps.db.select({ id: agents.id, runtime: agents.runtime }).from(agents).where(isInRange).all()
      for (const { id, runtime } of rows) homes.set(id, runtime)
    }
    for (const runtime of deps.runtimes.listOpen()) {
      if (!(await runtime.isAvailable())) continue
      const orphans = (await runtime.list()).map(({ id }) => id).filter((id) => !isAtHome(homes, id, runtime.name))
      const overdue = noteSeen(seenSince, runtime.name, orphans, deps.clock.now().getTime())
      for (const id of homes.size > 0 ? overdue : []) await removeOrphan(deps, runtime, id)
    }
  }
}

/** Records the orphans of a runtime in `seenSince`. @returns those that are old enough. */
function noteSeen(seenSince: Map<string, number>, runtime: RuntimeName, orphans: string[], nowMs: number): string[] {
  for (const key of seenSince.keys()) {
    const [name, id = ''] = key.split(' ')
    if (name === runtime && !orphans.includes(id)) seenSince.delete(key)
  }
  return orphans.filter((id) => {
    const key = `${runtime} ${id}`
    const since = seenSince.get(key) ?? nowMs
    seenSince.set(key, since)
    return nowMs - since >= ORPHAN_MS
  })
}

function isAtHome(homes: ReadonlyMap<string, RuntimeName | null>, id: string, runtime: RuntimeName): boolean {
  const home = homes.get(id)
  return home === null || home === runtime
}

async function removeOrphan(deps: OperationDeps, runtime: Runtime, id: string): Promise<void> {
  const who = { agent: id, runtime: runtime.name }
  try {
    await deps.agentLocks.run(id, () => putAside(deps, runtime, id))
    deps.log.warn(who, 'an agent that no row knows was removed; what it had stored is among the backups')
  } catch (error) {
    deps.log.error({ ...who, error: errorMessage(error) }, 'an agent that no row knows could not be removed')
  }
}

async function putAside({ objects }: OperationDeps, runtime: Runtime, id: string): Promise<void> {
  await stopIfDeployed(runtime, id)
  await objects.put(`backups/orphans/${id}.tar.gz`, (file) => runtime.snapshot(id, file))
  await runtime.remove(id)
}

/** Compares every agent with its row when its runtime reports an event, until `signal` aborts. */
export async function reconcileOnEvents(deps: OperationDeps, signal: AbortSignal): Promise<void> {
  for await (const { id } of watchAgentEvents(deps, signal)) await reconcileAgent(deps, id, new Map())
}

const RECONCILE_MS = 30_000
/** Interval at which outages are followed, and retry pause. */
const FOLLOW_MS = 100
/** Retry pause for the runtimes' event streams. */
const WATCH_AGAIN_MS = 5000

export function reconcileJob(deps: OperationDeps): RepeatingJob {
  const reconcile = createReconciler(deps)
  return { name: 'agents.reconcile', everyMs: RECONCILE_MS, run: reconcile }
}

/** Records agents that are down, and their recovery, as soon as a runtime reports them. */
export function outagesJob(deps: OutageDeps): RepeatingJob {
  return { name: 'agents.downs', everyMs: FOLLOW_MS, run: (signal) => followOutages(deps, signal) }
}

export function watchJob(deps: OperationDeps): RepeatingJob {
  return { name: 'agents.watch', everyMs: WATCH_AGAIN_MS, run: (signal) => reconcileOnEvents(deps, signal) }
}
