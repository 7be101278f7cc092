import type Docker from 'dockerode'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { KeyedQueue } from '../../../core/concurrency/keyed-queue.ts'
import type { Log } from '../../../core/log.ts'
import { VERSION } from '../../../core/version.ts'
import { type AgentDriver, steadDriver } from '../contract/agent-image.ts'
import {
  type AgentKind,
  agentNotRunning,
  engineUnavailable,
  type Runtime,
  type RuntimeStats,
  requireSpec,
  runtimeClosed,
} from '../contract/runtime.ts'
import { openClawDriver } from '../openclaw/driver.ts'
import { type Engine, LABELS, toEngineError } from './engine.ts'
import { findImage, pullImage } from './images.ts'

/** `instance` identifies this installation in a shared engine; `digestKey` is its own secret. */
export type EngineRuntimeDeps = {
  engine: Engine
  instance: string
  digestKey: string
  clock: Clock
  log: Log
  /** Images that may serve agents' files, best first; by default the built-in one. */
  filesImages?: readonly string[]
}

/** The image that `stead agent-image` builds. */
export const BUILT_IN_IMAGE = `stead-agent:${VERSION}`

/** Time for which a response proves that the engine is available. */
const TRUST_MS = 500

/** A container to measure. */
type Measured = { Id: string; State: { StartedAt: string }; HostConfig: { Memory?: number | undefined } }

/** The engine-independent part of a runtime. */
type CommonPart = Pick<Runtime, 'measureStored' | 'findImage' | 'pull'>

/** Common parts of the engines' runtimes: availability checks, a queue per agent, known agents, and measurements. */
export class EngineShell {
  /** Agents that were seen, so that an incomplete listing does not make one vanish. */
  readonly known = new Set<string>()
  readonly common: CommonPart
  readonly #deps: EngineRuntimeDeps
  readonly #changes = new KeyedQueue()
  readonly #samples = new Map<string, CpuSample>()
  #isClosed = false

  constructor(deps: EngineRuntimeDeps) {
    this.#deps = deps
    const { engine, instance } = deps
    this.common = {
      measureStored: () => this.look(() => measureVolumes(engine, instance)),
      findImage: (image) => this.look(() => findImage(engine, image)),
      pull: async (image, onProgress, signal) => {
        await this.#requireEngine()
        await pullImage(engine, image, onProgress, signal)
      },
    }
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** @throws AppError `unavailable` after `close`. */
  requireOpen(): void {
    if (this.#isClosed) throw runtimeClosed()
  }

  /** Runs a read-only call. @throws AppError `unavailable` while the engine is away, else as `work`. */
  async look<T>(work: () => Promise<T>): Promise<T> {
    await this.#requireEngine()
    return work().catch((error: unknown) => {
      throw toEngineError(error)
    })
  }

  /** Runs a change of the agent `id`, one after another. */
  async change<T>(id: string, work: () => Promise<T>): Promise<T> {
    // Checked before queueing, because waiting behind a hanging engine would exceed a route's time.
    await this.#requireEngine()
    return this.#changes.run(id, () => this.look(work))
  }

  /** Deploys a validated `spec` and remembers the agent. */
  async deploy(spec: Parameters<Runtime['deploy']>[0], work: (checked: typeof spec) => Promise<void>): Promise<void> {
    const checked = requireSpec(spec)
    await this.change(checked.id, async () => {
      await work(checked)
      this.known.add(checked.id)
    })
  }

  /** Measures the agent's container. @throws AppError `conflict` when it has no process. */
  async measure(id: string, { Id, State, HostConfig }: Measured): Promise<RuntimeStats> {
    const { engine, clock } = this.#deps
    const startedAt = new Date(State.StartedAt)
    const raw = await engine.ask((docker) => docker.getContainer(Id).stats({ stream: false, 'one-shot': true }))
    const start = { usedMs: 0, atMs: startedAt.getTime() }
    const last = this.#samples.get(id)
    const found = toStats(raw, {
      before: last && last.atMs > start.atMs ? last : start,
      now: clock.now(),
      startedAt,
      memoryLimitBytes: HostConfig.Memory ?? 0,
    })
    if (!found) throw agentNotRunning()
    this.#samples.set(id, found.sample)
    return found.stats
  }

  /** Forgets the agent `id`, or all agents. */
  forget(id?: string): void {
    if (id === undefined) {
      this.known.clear()
      this.#samples.clear()
    } else {
      this.known.delete(id)
      this.#samples.delete(id)
    }
  }

  /** Rejects new work and waits for pending work. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#changes.settle()
  }

  async #requireEngine(): Promise<void> {
    this.requireOpen()
    if (!(await this.#deps.engine.isAnswering(TRUST_MS))) throw engineUnavailable()
  }
}

/** Drivers of all programs an image can hold. */
export const agentDrivers: Readonly<Record<AgentKind, AgentDriver>> = { stead: steadDriver, openclaw: openClawDriver }

const Volume = z.object({
  Labels: z.record(z.string(), z.string()).nullish(),
  UsageData: z.object({ Size: z.number() }).nullish(),
})
const Usage = z.object({ Volumes: z.array(Volume).nullish() })

/** Returns the bytes in volumes of each agent of an installation, by id. Slow: the engine counts every file. */
async function measureVolumes(engine: Engine, instance: string): Promise<ReadonlyMap<string, number>> {
  const answer: unknown = await engine.change((docker, abortSignal) => readUsage(docker, abortSignal))
  const bytes = new Map<string, number>()
  for (const { Labels, UsageData } of Usage.parse(answer).Volumes ?? []) {
    const agentId = Labels?.[LABELS.agent]
    if (!agentId || Labels[LABELS.instance] !== instance || LABELS.secrets in Labels) continue
    bytes.set(agentId, (bytes.get(agentId) ?? 0) + Math.max(0, UsageData?.Size ?? 0))
  }
  return bytes
}

/** dockerode's call would also measure images and containers. */
function readUsage(docker: Docker, abortSignal: AbortSignal): Promise<unknown> {
  const statusCodes = { 200: true, 500: 'server error' }
  const options = { path: '/system/df?type=volume', method: 'GET', abortSignal, statusCodes }
  return new Promise((resolve, reject) => {
    docker.modem.dial(options, (error: unknown, data: unknown) => (error ? reject(error) : resolve(data)))
  })
}

const Count = z.number().nonnegative().catch(0)
const Totals = z.record(z.string(), z.object({ rx_bytes: Count, tx_bytes: Count })).nullish()
const BlockIo = z.array(z.object({ op: z.string(), value: z.number() })).nullish()

/** A sample of the engine's counters; missing ones are not counted. */
const Sample = z.object({
  cpu_stats: z.object({ cpu_usage: z.object({ total_usage: z.number() }) }),
  memory_stats: z.object({
    usage: z.number().optional(),
    stats: z.record(z.string(), z.number()).optional(),
  }),
  pids_stats: z.object({ current: z.number().optional() }),
  networks: Totals,
  blkio_stats: z.object({ io_service_bytes_recursive: BlockIo }).optional(),
})

/** CPU time used by a container until a time. */
type CpuSample = { usedMs: number; atMs: number }

/** Converts a sample to statistics since `before`; null without a process. */
function toStats(
  raw: unknown,
  facts: { before: CpuSample; now: Date; startedAt: Date; memoryLimitBytes: number },
): { stats: RuntimeStats; sample: CpuSample } | null {
  const { cpu_stats, memory_stats, pids_stats, networks, blkio_stats } = Sample.parse(raw)
  if (memory_stats.usage === undefined || pids_stats.current === undefined) return null
  const atMs = facts.now.getTime()
  const usedMs = cpu_stats.cpu_usage.total_usage / 1_000_000
  const elapsedMs = atMs - facts.before.atMs
  // The page cache is reclaimable; cgroup versions 1 and 2 name it differently.
  const cache = memory_stats.stats?.inactive_file ?? memory_stats.stats?.total_inactive_file ?? 0
  const io = blkio_stats?.io_service_bytes_recursive
  return {
    sample: { usedMs, atMs },
    stats: {
      cpuPercent: elapsedMs > 0 ? Math.max(0, ((usedMs - facts.before.usedMs) / elapsedMs) * 100) : 0,
      memoryBytes: Math.max(0, memory_stats.usage - cache),
      memoryLimitBytes: facts.memoryLimitBytes,
      processes: pids_stats.current,
      uptimeMs: Math.max(0, atMs - facts.startedAt.getTime()),
      networkInBytes: sum(networks, 'rx_bytes'),
      networkOutBytes: sum(networks, 'tx_bytes'),
      diskReadBytes: sumIo(io, 'read'),
      diskWriteBytes: sumIo(io, 'write'),
    },
  }
}

function sum(networks: z.infer<typeof Totals>, count: 'rx_bytes' | 'tx_bytes'): number | null {
  if (!networks) return null
  return Object.values(networks).reduce((total, network) => total + network[count], 0)
}

function sumIo(io: z.infer<typeof BlockIo>, op: string): number | null {
  if (!io) return null
  return io.filter((entry) => entry.op.toLowerCase() === op).reduce((total, entry) => total + entry.value, 0)
}
