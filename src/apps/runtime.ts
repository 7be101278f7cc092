import { createDockerRuntime } from '../adapters/docker.ts'
import { createEngine } from '../adapters/engine.ts'
import { hasImage } from '../adapters/engine-images.ts'
import { createProcessRuntime } from '../adapters/process.ts'
import type { Runtime } from '../adapters/runtime.ts'
import { createSwarmRuntime } from '../adapters/swarm.ts'
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { Log } from '../core/log.ts'

/** `instance` names this installation in an engine that others may share; `digestKey` is a secret of its own. */
export type RuntimeOptions = {
  config: Config['agents']
  instance: string
  digestKey: string
  clock: Clock
  log: Log
  /** For agents that are processes: their folder, and what starts one. */
  process: { dir: string; command: readonly [string, ...string[]]; path: string; lang: string }
}

/**
 * What runs the agents, as `AGENT_RUNTIME` says. With `auto` that is the engine when it answers and has the image, because
 * only then an agent can run in it, and processes otherwise: the log says which, and why.
 */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { config, instance, digestKey, clock, log } = options
  const parts = { engine: createEngine(config.dockerHost), instance, digestKey, clock, log }
  const reason = config.runtime === 'process' ? 'processes were asked for' : await whyNoContainers(config)
  if (config.runtime === 'process' || (config.runtime === 'auto' && reason !== null)) {
    if (config.runtime === 'auto') log.info(`Agents run as processes: ${reason}.`)
    return createProcessRuntime({ ...options.process, clock, log })
  }
  if (reason !== null) log.warn(`Agents cannot run now: ${reason}.`)
  return config.runtime === 'swarm' ? createSwarmRuntime(parts) : createDockerRuntime(parts)
}

/** What keeps new agents from running in containers now, in words; null when nothing does. */
export async function whyNoContainers(config: Pick<Config['agents'], 'dockerHost' | 'image'>): Promise<string | null> {
  const engine = createEngine(config.dockerHost)
  if (!(await engine.isAnswering())) return `no container engine answers at DOCKER_HOST=${config.dockerHost}`
  if (await hasImage(engine, config.image).catch(() => false)) return null
  return `the image ${config.image} is not there (bun run agent:image makes it)`
}
