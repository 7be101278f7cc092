import type { Runtime } from '../adapters/runtimes/contract/runtime.ts'
import { createRuntimes, type Runtimes } from '../adapters/runtimes/contract/runtimes.ts'
import { createDockerRuntime } from '../adapters/runtimes/docker/docker.ts'
import { createEngine } from '../adapters/runtimes/engine/engine.ts'
import { hasImage } from '../adapters/runtimes/engine/images.ts'
import { BUILT_IN_IMAGE } from '../adapters/runtimes/engine/shell.ts'
import { createProcessRuntime, type ProcessRuntimeDeps } from '../adapters/runtimes/process/process.ts'
import { whyNoSwarm } from '../adapters/runtimes/swarm/cluster.ts'
import { createSwarmRuntime } from '../adapters/runtimes/swarm/swarm.ts'
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { Log } from '../core/log.ts'
import { withoutUserinfo } from '../core/text/url-userinfo.ts'
import { bringRestoredStates, type FindWaiting } from './backups/restored-states.ts'

/** `instance` names this installation in an engine that others may share; `digestKey` is a secret of its own. */
export type RuntimesOptions = {
  config: Config['agents']
  instance: string
  digestKey: string
  clock: Clock
  log: Log
  /** Where the states wait that a restored backup has brought. */
  restoredStates: string
  findWaiting: FindWaiting
  /** Returns whether an agent of this installation ever ran in a container. */
  hasRunContainers: () => boolean
  /** For agents that are processes: their folder, what starts one, and which of those that are found may be started. */
  process: Pick<ProcessRuntimeDeps, 'dir' | 'command' | 'path' | 'lang' | 'mayStart'>
}

/** How long a look at the engine tells what the next agent gets. */
const CHOICE_MS = 5000

/**
 * All that agents may run in. Processes are looked after from now on, the engine as soon as an agent needs it. New agents
 * get what `AGENT_RUNTIME` says. With `auto` that is the engine when it answers and has the image, because only then an
 * agent can run in it, and processes otherwise: the log says which, and why. An installation that has run containers never
 * falls back to processes, which nothing confines: there a new agent fails until the engine and the image are back.
 */
export async function openRuntimes(options: RuntimesOptions): Promise<Runtimes> {
  const { config, instance, digestKey, clock, log } = options
  const filesImages = [config.image, BUILT_IN_IMAGE]
  const parts = { engine: createEngine(config.dockerHost), instance, digestKey, clock, log, filesImages }
  const bringing = (runtime: Runtime) => bringRestoredStates(runtime, options.restoredStates, options.findWaiting)
  const processes = bringing(await createProcessRuntime({ ...options.process, clock, log }))
  const runtimes = createRuntimes({
    openers: {
      process: () => processes,
      docker: () => bringing(createDockerRuntime(parts)),
      swarm: () => bringing(createSwarmRuntime(parts)),
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
      // Asked anew: whoever has just run the command that helps does not wait for it.
      const reason = hasRunContainers() ? await whyNoContainers(config) : null
      return reason && describeBound(reason)
    },
  }
}

/** Says why an installation that has run containers makes no new agents now. */
export function describeBound(reason: string): string {
  return `New agents of this installation run in containers, and ${reason}. AGENT_RUNTIME=process would run them as processes, which nothing confines`
}

/** What keeps new agents from running in containers now, in words; null when nothing does. */
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
