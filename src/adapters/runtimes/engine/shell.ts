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

/** The image that `stead agent-image` makes. */
export const BUILT_IN_IMAGE = `stead-agent:${VERSION}`

/** So long an answer of the engine shows that it is there. */
const TRUST_MS = 500

/** Of a container that is to be measured. */
type Measured = { Id: string; State: { StartedAt: string }; HostConfig: { Memory?: number | undefined } }

/** The part of a runtime that is the same whatever its engine makes of an agent. */
type CommonPart = Pick<Runtime, 'measureStored' | 'findImage' | 'pull'>

/**
 * What the runtimes of an engine do alike: they ask it only while it answers, change an agent one step after another,
 * remember which agents there are, and measure containers.
 */
export class EngineShell {
  /** Agents that were seen: an engine that forgets to name one, for whatever reason, does not make it vanish. */
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

  /** @throws AppError `unavailable` once the runtime is closed. */
  requireOpen(): void {
    if (this.#isClosed) throw runtimeClosed()
  }

  /** @throws AppError `unavailable` while the engine is away, else of the work. */
  async look<T>(work: () => Promise<T>): Promise<T> {
    await this.#requireEngine()
    return work().catch((error: unknown) => {
      throw toEngineError(error)
    })
  }

  /** As `look`, for what changes the agent `id`: one change after another. */
  async change<T>(id: string, work: () => Promise<T>): Promise<T> {
    // Whoever waits in a queue behind a hanging engine would wait longer than a route may take.
    await this.#requireEngine()
    return this.#changes.run(id, () => this.look(work))
  }

  /** Deploys a checked `spec`; from then on the agent is known. */
  async deploy(spec: Parameters<Runtime['deploy']>[0], work: (checked: typeof spec) => Promise<void>): Promise<void> {
    const checked = requireSpec(spec)
    await this.change(checked.id, async () => {
      await work(checked)
      this.known.add(checked.id)
    })
  }

  /** What the container of the agent `id` uses. @throws AppError `conflict` when nothing runs in it. */
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

  /** Nothing of the agent `id` is there any more, or of any agent. */
  forget(id?: string): void {
    if (id === undefined) {
      this.known.clear()
      this.#samples.clear()
    } else {
      this.known.delete(id)
      this.#samples.delete(id)
    }
  }

  /** Takes no work from now on, and waits for what is under way. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#changes.settle()
  }

  async #requireEngine(): Promise<void> {
    this.requireOpen()
    if (!(await this.#deps.engine.isAnswering(TRUST_MS))) throw engineUnavailable()
  }
}

/** Every program that an agent's image can hold. */
export const agentDrivers: Readonly<Record<AgentKind, AgentDriver>> = { stead: steadDriver, openclaw: openClawDriver }

const Volume = z.object({
  Labels: z.record(z.string(), z.string()).nullish(),
  UsageData: z.object({ Size: z.number() }).nullish(),
})
const Usage = z.object({ Volumes: z.array(Volume).nullish() })

/**
 * Bytes of what each agent of an installation has stored in volumes of this engine, by its id. The engine counts every
 * file: that can take a while.
 */
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

/** dockerode's own call counts images and containers as well, which takes longer. */
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

/** One sample of the engine's counters; it leaves out what it does not count. */
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

/** Processor time that a container had used at some time. */
type CpuSample = { usedMs: number; atMs: number }

/** What a container uses: `before` is the previous sample of it, or its start. Null when it has no process to count. */
function toStats(
  raw: unknown,
  facts: { before: CpuSample; now: Date; startedAt: Date; memoryLimitBytes: number },
): { stats: RuntimeStats; sample: CpuSample } | null {
  const { cpu_stats, memory_stats, pids_stats, networks, blkio_stats } = Sample.parse(raw)
  if (memory_stats.usage === undefined || pids_stats.current === undefined) return null
  const atMs = facts.now.getTime()
  const usedMs = cpu_stats.cpu_usage.total_usage / 1_000_000
  const elapsedMs = atMs - facts.before.atMs
  // The page cache is given back when it is needed: version 2 and version 1 of control groups name it differently.
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
