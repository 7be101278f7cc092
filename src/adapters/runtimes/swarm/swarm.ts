import { AppError } from '../../../core/errors.ts'
import { TaskQueue } from '../../../core/keyed-queue.ts'
import {
  type AgentStats,
  agentNotRunning,
  engineUnavailable,
  MAX_LOG_LINES,
  type Runtime,
  requireSpec,
} from '../contract/runtime.ts'
import { BUILT_IN_IMAGE, type EngineRuntimeDeps } from '../docker/docker.ts'
import { agentDrivers } from '../engine/drivers.ts'
import { LABELS, toAppError } from '../engine/engine.ts'
import { openVolumeFiles } from '../engine/files.ts'
import { findImage, pullImage } from '../engine/images.ts'
import { type CpuSample, toStats } from '../engine/stats.ts'
import { measureVolumes } from '../engine/usage.ts'
import {
  deployAgent,
  getAgent,
  killAgent,
  removeAgent,
  restartAgent,
  restoreAgent,
  snapshotAgent,
  startAgent,
  stopAgent,
  wantedOf,
} from './agent.ts'
import {
  ClusterGuard,
  type Found,
  findAgent,
  findContainer,
  findCurrent,
  findPlatformHost,
  isManager,
  listAgents,
  look,
  type SwarmDeps,
  type SwarmTiming,
} from './cluster.ts'
import { driverOf, getVolume, requireHere } from './files.ts'
import { RestartCounter, toInspections } from './inspection.ts'
import { followLines, readLastLines } from './logs.ts'
import { watchSwarm } from './watch.ts'

/** `timing` is for tests. */
export type SwarmRuntimeDeps = EngineRuntimeDeps & { timing?: Partial<SwarmTiming> }

const TIMING: SwarmTiming = { pollMs: 1000, restartDelayMs: 5000, nodeGraceMs: 60_000, startMs: 60_000, anewMs: 5000 }
/** So long an answer of the engine shows that it is there. */
const TRUST_MS = 500

/**
 * Agents as services of a Docker Swarm, one for each, on any of its machines. The engine must be one of its managers. An
 * agent keeps to the machine that first ran it, because its volume is there; when that machine has been lost for a minute,
 * it starts elsewhere with nothing stored. Services without this installation's labels are never touched.
 */
export function createSwarmRuntime({ timing, filesImages = [BUILT_IN_IMAGE], ...deps }: SwarmRuntimeDeps): Runtime {
  const { engine, clock, log } = deps
  const { instance, digestKey } = deps
  const times = { ...TIMING, ...timing }
  const parts: SwarmDeps = {
    engine,
    instance,
    digestKey,
    drivers: agentDrivers,
    timing: times,
    cluster: new ClusterGuard(times.anewMs, forgetSwarm),
    filesImages,
  }
  const queues = new Map<string, TaskQueue>()
  const known = new Set<string>()
  const removedHere = new Set<string>()
  const samples = new Map<string, CpuSample>()
  const counter = new RestartCounter()
  let isClosed = false

  const requireOpen = () => {
    if (isClosed) throw new AppError('unavailable', 'The agent runtime is closed')
  }
  const requireEngine = async () => {
    requireOpen()
    // Whoever waits in a queue behind a hanging engine would wait longer than a route may take.
    if (!(await engine.isAnswering(TRUST_MS))) throw engineUnavailable()
  }
  const read = async <T>(work: () => Promise<T>): Promise<T> => {
    await requireEngine()
    return work().catch((error: unknown) => {
      throw toAppError(error)
    })
  }
  const change = async <T>(id: string, work: () => Promise<T>): Promise<T> => {
    requireOpen()
    const queue = queues.get(id) ?? new TaskQueue()
    queues.set(id, queue)
    try {
      return await queue.run(async () => {
        await requireEngine()
        return work()
      })
    } catch (error) {
      throw toAppError(error)
    } finally {
      if (queue.isIdle) queues.delete(id)
    }
  }
  /** A manager that forgets to name an agent, for whatever reason, does not make it vanish. */
  const listFound = async (): Promise<Found[]> => {
    const found = await listAgents(parts)
    const ids = new Set(found.map(({ service }) => service.Spec.Labels[LABELS.agent] ?? ''))
    const unnamed = await Promise.all([...known.difference(ids)].map((id) => findAgent(parts, id)))
    for (const id of ids) known.add(id)
    return [...found, ...unnamed.filter((one) => one !== null)]
  }
  const watch = watchSwarm({ ...parts, log, counter, change, wasRemovedHere: (id) => removedHere.has(id) })
  startHeld().catch((error: unknown) => log.warn({ error: toAppError(error).message }, 'held agents were not started'))

  /** Those that the platform before this one has ended with itself. */
  async function startHeld(): Promise<void> {
    const held = (await listAgents(parts)).filter(({ service }) => wantedOf(service) === 'held')
    const ids = held.map(({ service }) => service.Spec.Labels[LABELS.agent] ?? '')
    await Promise.all(ids.map((id) => change(id, () => startAgent(parts, id, { repair: false }))))
  }

  return {
    name: 'swarm',
    async deploy(spec) {
      const checked = requireSpec(spec)
      await change(checked.id, async () => {
        await deployAgent(parts, checked)
        known.add(checked.id)
        removedHere.delete(checked.id)
      })
    },
    start: (id, options) => change(id, () => startAgent(parts, id, { repair: options?.repair ?? false })),
    stop: (id) => change(id, () => stopAgent(parts, id)),
    kill: (id) => change(id, () => killAgent(parts, id)),
    restart: (id) => change(id, () => restartAgent(parts, id)),
    async remove(id) {
      await change(id, async () => {
        removedHere.add(id)
        const left = await removeAgent(parts, id)
        if (left) log.warn({ agentId: id, ...left }, 'a volume of the agent is left on another machine of the swarm')
        known.delete(id)
      })
      samples.delete(id)
    },
    inspect: (id) =>
      read(async () => {
        const found = await findAgent(parts, id)
        if (!found) return null
        known.add(id)
        const [inspection] = await toInspections(parts, counter, [found])
        return inspection ?? null
      }),
    list: () =>
      read(async () => {
        const inspections = await toInspections(parts, counter, await listFound())
        return inspections.sort((a, b) => a.id.localeCompare(b.id))
      }),
    stats: (id) => read(async () => readStats(await getAgent(parts, id), id)),
    logs: (id, { tail }) =>
      read(async () => readLastLines(parts, await getAgent(parts, id), Math.min(tail, MAX_LOG_LINES))),
    async *followLogs(id, options) {
      requireOpen()
      yield* followLines(parts, id, options)
    },
    watch: (signal) => watch.listen(signal),
    snapshot: (id, file) => change(id, () => snapshotAgent(parts, id, file)),
    restore: (id, file) => change(id, () => restoreAgent(parts, id, file)),
    openFiles: (id) =>
      read(async () => {
        const { service } = await getAgent(parts, id)
        await requireHere(parts, service)
        const volume = { agentId: id, name: getVolume(parts, service), driver: driverOf(parts, service) }
        return openVolumeFiles({ engine, instance, filesImages }, volume)
      }),
    measureStored: () => read(() => measureVolumes(engine, instance)),
    findImage: (image) => read(() => findImage(engine, image)),
    async pull(image, onProgress, signal) {
      await requireEngine()
      await pullImage(engine, image, onProgress, signal)
    },
    platformHost: () => read(() => findPlatformHost(parts)),
    async isAvailable() {
      return !isClosed && isManager(engine).catch(() => false)
    },
    async close({ stopAgents = false } = {}) {
      if (isClosed) return
      const agents = stopAgents ? await listFound().catch(() => []) : []
      isClosed = true
      watch.close()
      await Promise.all([...queues.values()].map((queue) => queue.run(async () => {})))
      await Promise.all(agents.map(hold))
    },
  }

  /** Nothing of what was known is in the swarm that has taken the place of the one before. */
  function forgetSwarm(swarm: string): void {
    log.warn({ swarm }, 'the swarm was made anew: its agents are gone, and are started in it again')
    known.clear()
    samples.clear()
  }

  async function hold({ service }: Found): Promise<void> {
    if (wantedOf(service) === 'running') await stopAgent(parts, service.Spec.Labels[LABELS.agent] ?? '', 'held')
  }

  async function readStats(found: Found, id: string): Promise<AgentStats> {
    const task = findCurrent(found)
    if (!task) throw agentNotRunning()
    const self = await look(parts, async (_docker, { nodeId }) => nodeId)
    if (task.NodeID !== self) throw new AppError('unavailable', 'Figures are only known on its own node')
    const container = await findContainer(parts, task)
    if (!container?.State.Running) throw agentNotRunning()
    const startedAt = new Date(container.State.StartedAt)
    const raw = await engine.ask((docker) =>
      docker.getContainer(container.Id).stats({ stream: false, 'one-shot': true }),
    )
    const start = { usedMs: 0, atMs: startedAt.getTime() }
    const last = samples.get(id)
    const measured = toStats(raw, {
      before: last && last.atMs > start.atMs ? last : start,
      now: clock.now(),
      startedAt,
      memoryLimitBytes: container.HostConfig.Memory ?? 0,
    })
    if (!measured) throw agentNotRunning()
    samples.set(id, measured.sample)
    return measured.stats
  }
}
