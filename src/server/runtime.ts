import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Runtime } from '../adapters/runtimes/contract/runtime.ts'
import { createRuntimes, type Runtimes } from '../adapters/runtimes/contract/runtimes.ts'
import { createDockerRuntime } from '../adapters/runtimes/docker/docker.ts'
import { createEngine } from '../adapters/runtimes/engine/engine.ts'
import { hasImage } from '../adapters/runtimes/engine/images.ts'
import { BUILT_IN_IMAGE } from '../adapters/runtimes/engine/shell.ts'
import { createProcessRuntime, type ProcessRuntimeDeps } from '../adapters/runtimes/process/process.ts'
import { findConfinement } from '../adapters/runtimes/process/sandbox/confinement.ts'
import { whyNoSwarm } from '../adapters/runtimes/swarm/cluster.ts'
import { createSwarmRuntime } from '../adapters/runtimes/swarm/swarm.ts'
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { Log } from '../core/log.ts'
import { withoutUserinfo } from '../core/text/url-userinfo.ts'
import {
  createKeptStates,
  type KeptStatesDeps,
  keepRestoredStates,
} from '../features/agents/kept-states/kept-states.ts'
import { bringRestoredStates, type FindWaiting } from './backups/restored-states.ts'

/** `instance` identifies this installation in a shared engine; `digestKey` is a secret. */
export type RuntimesOptions = {
  config: Config['agents']
  instance: string
  digestKey: string
  clock: Clock
  log: Log
  /** Folder of agent files waiting after a restore. */
  restoredStates: string
  keptStates: KeptStatesDeps
  findWaiting: FindWaiting
  /** Returns whether an agent of this installation ever ran in a container. */
  hasRunContainers: () => boolean
  /** For the process runtime: folders, start command, and which agents may be started. */
  process: Pick<ProcessRuntimeDeps, 'dir' | 'hidden' | 'command' | 'path' | 'lang' | 'mayStart'>
}

/** How long the result of a container engine check is used. */
const CHOICE_MS = 5000

/**
 * Opens the runtimes. `AGENT_RUNTIME` selects the runtime of new agents; `auto` means containers when the engine
 * answers and has the image, processes otherwise, and logs the reason. An installation that has run containers never
 * falls back to processes, which are not isolated: new agents fail until the engine and image are available.
 */
export async function openRuntimes(options: RuntimesOptions): Promise<Runtimes> {
  const { config, instance, digestKey, clock, log } = options
  const filesImages = [config.image, BUILT_IN_IMAGE]
  const parts = { engine: createEngine(config.dockerHost), instance, digestKey, clock, log, filesImages }
  const swarm = { volumeDriver: config.volumeDriver, keptStates: createKeptStates(options.keptStates.objects) }
  const bringing = (runtime: Runtime) => bringRestoredStates(runtime, options.restoredStates, options.findWaiting)
  const processes = bringing(await createProcessRuntime({ ...options.process, ...toIsolating(config), clock, log }))
  const runtimes = createRuntimes({
    openers: {
      process: () => processes,
      docker: () => bringing(createDockerRuntime(parts)),
      swarm: () => bringing(keepRestoredStates(createSwarmRuntime({ ...parts, ...swarm }), options.keptStates)),
    },
    ...createChoice(config, options.hasRunContainers),
  })
  const reason = config.runtime === 'process' ? null : await whyNoContainers(config)
  const isBound = config.runtime === 'auto' && options.hasRunContainers()
  if (reason !== null && config.runtime === 'auto' && !isBound) log.info(`New agents run as processes: ${reason}.`)
  else if (reason !== null) log.warn(`New agents cannot run now: ${reason}.`)
  for (const runtime of ['process', await runtimes.choose()] as const) runtimes.runtimeOf({ runtime })
  return runtimes
}

/**
 * Returns why agents of the process runtime are not isolated on this machine; null when they are. `user` runs Stead; null
 * for the present user.
 */
export async function whyNotIsolated(
  config: Config['agents'],
  path: string,
  user: string | null = null,
): Promise<string | null> {
  const off = toIsolating(config).isolating
  if (off) return off.reason
  const dir = await mkdtemp(join(tmpdir(), 'stead-isolation-'))
  try {
    return (await findConfinement({ dir, command: [process.execPath], path, user })).reason
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

function toIsolating({ isolation }: Config['agents']): Pick<ProcessRuntimeDeps, 'isolating'> {
  return isolation === 'off' ? { isolating: { confinement: null, reason: 'AGENT_ISOLATION is off' } } : {}
}

function createChoice(
  config: Config['agents'],
  hasRunContainers: () => boolean,
): Pick<Runtimes, 'choose' | 'whyNotNew'> {
  const { runtime } = config
  if (runtime !== 'auto') return { choose: async () => runtime, whyNotNew: async () => null }
  let last: { atMs: number; reason: Promise<string | null> } | null = null
  const look = () => {
    if (!last || performance.now() - last.atMs > CHOICE_MS)
      last = { atMs: performance.now(), reason: whyNoContainers(config) }
    return last.reason
  }
  return {
    choose: async () => (hasRunContainers() || (await look()) === null ? 'docker' : 'process'),
    async whyNotNew() {
      // Not cached, so that a fix is seen at once.
      const reason = hasRunContainers() ? await whyNoContainers(config) : null
      return reason && describeBound(reason)
    },
  }
}

/** Describes why an installation that has run containers cannot create agents. */
export function describeBound(reason: string): string {
  return `New agents of this installation run in containers, and ${reason}. AGENT_RUNTIME=process would run them as processes, which nothing confines`
}

/** Returns why new agents cannot run in containers; null when they can. */
export async function whyNoContainers(
  config: Pick<Config['agents'], 'runtime' | 'dockerHost' | 'image'>,
): Promise<string | null> {
  const engine = createEngine(config.dockerHost)
  if (!(await engine.isAnswering()))
    return `no container engine answers at DOCKER_HOST=${withoutUserinfo(config.dockerHost)} (start Docker)`
  const reason = config.runtime === 'swarm' ? await whyNoSwarm(engine).catch(() => null) : null
  if (reason !== null) return reason
  if (await hasImage(engine, config.image).catch(() => false)) return null
  return `the image ${config.image} is not there (stead agent-image makes it)`
}
