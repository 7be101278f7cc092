import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { TaskQueue } from '../../../core/keyed-queue.ts'
import type { Log } from '../../../core/log.ts'
import { VERSION } from '../../../core/version.ts'
import {
  agentNotFound,
  agentNotRunning,
  BAD_CONFIGURATION_EXIT,
  engineUnavailable,
  type Inspection,
  MAX_LOG_LINES,
  type Runtime,
  requireSpec,
} from '../contract/runtime.ts'
import { STOP_SECONDS } from '../engine/container.ts'
import { agentDrivers } from '../engine/drivers.ts'
import { type Engine, LABELS, toAppError } from '../engine/engine.ts'
import { noFiles, openVolumeFiles } from '../engine/files.ts'
import { findImage, pullImage } from '../engine/images.ts'
import { type CpuSample, toStats } from '../engine/stats.ts'
import { measureVolumes } from '../engine/usage.ts'
import {
  type DockerAgentDeps,
  deployAgent,
  driverOf,
  findContainer,
  haltAgent,
  removeAgent,
  restartAgent,
  restoreAgent,
  snapshotAgent,
  startAgent,
  stopAgent,
} from './agent.ts'
import { toInspection } from './inspection.ts'
import { followLines, readLastLines } from './logs.ts'
import { createDockerNetwork } from './network.ts'
import { giveUp, volumeAt } from './steps.ts'
import { AskedFor, watchDocker } from './watch.ts'

/** `instance` names this installation in its engine, which others may share; `digestKey` is a secret of its own. */
export type EngineRuntimeDeps = {
  engine: Engine
  instance: string
  digestKey: string
  clock: Clock
  log: Log
  /** Images that may serve the files of agents, best first; the built-in one unless it is given. */
  filesImages?: readonly string[]
}
/** The image that `bun run agent:image` makes. */
export const BUILT_IN_IMAGE = `stead-agent:${VERSION}`

/** So long an answer of the engine shows that it is there. */
const TRUST_MS = 500
const AT_ONCE = 8

/**
 * Agents as containers of one engine, which keeps them running without the platform. The engine may come and go: calls
 * fail within 5 s while it is away. Containers that do not have this installation's labels are never touched.
 */
export function createDockerRuntime(deps: EngineRuntimeDeps): Runtime {
  const { engine, instance, clock, log, filesImages = [BUILT_IN_IMAGE] } = deps
  const asked = new AskedFor()
  const queues = new Map<string, TaskQueue>()
  const known = new Set<string>()
  const samples = new Map<string, CpuSample>()
  let isClosed = false
  let cpus: Promise<number> | null = null

  const parts: DockerAgentDeps = {
    engine,
    instance,
    asked,
    digestKey: deps.digestKey,
    drivers: agentDrivers,
    network: createDockerNetwork(engine, instance),
    async countCpus() {
      cpus ??= engine.ask(async (docker) => (await docker.info()).NCPU)
      // A failed answer is not kept.
      return cpus.catch((error: unknown) => {
        cpus = null
        throw error
      })
    },
  }

  const requireEngine = async () => {
    if (isClosed) throw new AppError('unavailable', 'The agent runtime is closed')
    // Whoever waits in a queue behind a hanging engine would wait longer than a route may take.
    if (!(await engine.isAnswering(TRUST_MS))) throw engineUnavailable()
  }
  const look = async <T>(work: () => Promise<T>): Promise<T> => {
    await requireEngine()
    return work().catch((error: unknown) => {
      throw toAppError(error)
    })
  }
  const change = async <T>(id: string, work: () => Promise<T>): Promise<T> => {
    await requireEngine()
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
  const inspect = async (id: string): Promise<Inspection | null> => {
    const container = await findContainer(parts, id)
    if (container) known.add(id)
    else known.delete(id)
    return container && toInspection(container, watch.endedOutOfMemory(container.Id))
  }

  /** An engine that forgets to name an agent, for whatever reason, does not make it vanish. */
  const listIds = async (): Promise<string[]> => {
    const filters = { label: [`${LABELS.instance}=${instance}`, LABELS.agent] }
    const found = await engine.ask((docker, abortSignal) => docker.listContainers({ all: true, filters, abortSignal }))
    const ids = new Set(found.flatMap(({ Labels }) => Labels[LABELS.agent] ?? []))
    return [...ids.union(known)].sort()
  }
  const list = async (): Promise<Inspection[]> => {
    const ids = await listIds()
    const inspections: Inspection[] = []
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      const some = await Promise.all(ids.slice(at, at + AT_ONCE).map(inspect))
      inspections.push(...some.filter((found) => found !== null))
    }
    return inspections
  }

  const watch = watchDocker({
    engine,
    instance,
    asked,
    log,
    listKnown: listIds,
    giveUp: (id) =>
      change(id, async () => {
        const container = await findContainer(parts, id)
        const { Restarting, ExitCode } = container?.State ?? {}
        if (container && Restarting && ExitCode === BAD_CONFIGURATION_EXIT) await giveUp(parts, container)
      }),
  })

  return {
    name: 'docker',
    async deploy(spec) {
      const checked = requireSpec(spec)
      await change(checked.id, async () => {
        await deployAgent(parts, checked)
        known.add(checked.id)
      })
    },
    start: (id, options) => change(id, () => startAgent(parts, id, { repair: options?.repair ?? false })),
    stop: (id) => change(id, () => stopAgent(parts, id, STOP_SECONDS)),
    kill: (id) => change(id, () => stopAgent(parts, id, 0)),
    restart: (id) => change(id, () => restartAgent(parts, id)),
    async remove(id) {
      await change(id, () => removeAgent(parts, id))
      known.delete(id)
      samples.delete(id)
    },
    inspect: (id) => look(() => inspect(id)),
    list: () => look(list),
    stats: (id) =>
      look(async () => {
        const container = await findContainer(parts, id)
        if (!container) throw agentNotFound()
        const startedAt = new Date(container.State.StartedAt)
        const raw = await engine.ask((docker) =>
          docker.getContainer(container.Id).stats({ stream: false, 'one-shot': true }),
        )
        const start = { usedMs: 0, atMs: startedAt.getTime() }
        const last = samples.get(id)
        const found = toStats(raw, {
          before: last && last.atMs > start.atMs ? last : start,
          now: clock.now(),
          startedAt,
          memoryLimitBytes: container.HostConfig.Memory ?? 0,
        })
        if (!container.State.Running || container.State.Restarting || !found) throw agentNotRunning()
        samples.set(id, found.sample)
        return found.stats
      }),
    logs: (id, { tail }) =>
      look(async () => {
        const container = await findContainer(parts, id)
        if (!container) throw agentNotFound()
        return readLastLines(parts, container, Math.min(tail, MAX_LOG_LINES))
      }),
    followLogs: (id, options) => followLines(parts, () => findContainer(parts, id), options),
    watch: (signal) => watch.listen(signal),
    snapshot: (id, file) => change(id, () => snapshotAgent(parts, id, file)),
    restore: (id, file) => change(id, () => restoreAgent(parts, id, file)),
    openFiles: (id) =>
      look(async () => {
        const container = await findContainer(parts, id)
        const driver = container && driverOf(parts, container)
        const name = driver && volumeAt(container, driver.stateDir)
        if (!name) throw noFiles()
        return openVolumeFiles({ engine, instance, filesImages }, { agentId: id, name, driver })
      }),
    measureStored: () => look(() => measureVolumes(engine, instance)),
    findImage: (image) => look(() => findImage(engine, image)),
    async pull(image, onProgress, signal) {
      await requireEngine()
      await pullImage(engine, image, onProgress, signal)
    },
    platformHost: () => look(() => parts.network.open()),
    async isAvailable() {
      return !isClosed && engine.isAnswering()
    },
    async close({ stopAgents = false } = {}) {
      if (isClosed) return
      const ids = stopAgents ? await listIds().catch(() => []) : []
      isClosed = true
      watch.close()
      await Promise.all([...queues.values()].map((queue) => queue.run(async () => {})))
      await Promise.all(ids.map((id) => haltAgent(parts, id, STOP_SECONDS)))
    },
  }
}
