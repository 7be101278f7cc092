import type { Clock } from '../../../core/clock.ts'
import { KeyedQueue } from '../../../core/concurrency/keyed-queue.ts'
import type { Log } from '../../../core/log.ts'
import { VERSION } from '../../../core/version.ts'
import {
  type AgentStats,
  agentNotRunning,
  engineUnavailable,
  type Runtime,
  requireSpec,
  runtimeClosed,
} from '../contract/runtime.ts'
import { type Engine, toAppError } from './engine.ts'
import { findImage, pullImage } from './images.ts'
import { type CpuSample, toStats } from './stats.ts'
import { measureVolumes } from './usage.ts'

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
      throw toAppError(error)
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
  async measure(id: string, { Id, State, HostConfig }: Measured): Promise<AgentStats> {
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
