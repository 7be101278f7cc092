import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createEngine, type Engine, LABELS, orNull } from '../../src/adapters/runtimes/engine/engine.ts'
import { hasImage } from '../../src/adapters/runtimes/engine/images.ts'
import { VERSION } from '../../src/core/version.ts'
import { type Measurement, toSecondsMeasured } from './report.ts'
import { createUser, deleteAgent, deployAgent, preparePlatform, type Stead, signIn, startStead } from './stead.ts'
import type { Workbench } from './workbench.ts'

const DEPLOYMENTS = 5
const SETTLE_MS = 10_000
const IDLE_MS = 90_000
const NANOSECONDS_A_MILLISECOND = 1_000_000

/** Measures the time from `POST /api/agents/provision` of a process agent until it runs. */
export async function measureDeploy(bench: Workbench): Promise<Measurement[]> {
  const installation = await preparePlatform(bench, { AI_ECHO: 'true' })
  const email = await createUser(bench, installation, 'network')
  const stead = await startStead(bench, installation)
  return [toSecondsMeasured('deploy a process', await deployAll(stead, await signIn(stead, email)), 2)]
}

/**
 * Measures the same for an agent in a container. Returns nothing without an engine that has the image (`bun run
 * agent:image`).
 */
export async function measureContainer(bench: Workbench): Promise<Measurement[]> {
  const dockerHost = process.env.DOCKER_HOST ?? '/var/run/docker.sock'
  const engine = createEngine(dockerHost)
  const image = process.env.AGENT_IMAGE ?? `stead-agent:${VERSION}`
  if (!(await engine.isAnswering()) || !(await hasImage(engine, image))) {
    console.error(`  container: no engine at ${dockerHost} has ${image}, not measured`)
    return []
  }
  const settings = { AGENT_RUNTIME: 'docker', DOCKER_HOST: dockerHost, AGENT_IMAGE: image, AI_ECHO: 'true' }
  const installation = await preparePlatform(bench, settings)
  try {
    const email = await createUser(bench, installation, 'network')
    const stead = await startStead(bench, installation)
    const cookie = await signIn(stead, email)
    const deployments = toSecondsMeasured('deploy a container', await deployAll(stead, cookie), 5)
    const idle = await deployAgent(stead, cookie, 'Idle')
    return [deployments, await measureIdle(engine, idle.id)]
  } finally {
    const instance = (await readFile(join(installation.dataDir, 'instance.id'), 'utf8')).trim()
    await removeLeftovers(engine, instance)
  }
}

/** CPU time of an idle container that the platform manages. */
async function measureIdle(engine: Engine, agentId: string): Promise<Measurement> {
  const filters = { label: [`${LABELS.agent}=${agentId}`] }
  const [container] = await engine.ask((docker) => docker.listContainers({ filters }))
  if (!container) throw new Error(`Agent ${agentId} has no container`)
  const readUsedMs = async () => {
    const stats = await engine.ask((docker) =>
      docker.getContainer(container.Id).stats({ stream: false, 'one-shot': true }),
    )
    return stats.cpu_stats.cpu_usage.total_usage / NANOSECONDS_A_MILLISECOND
  }
  await Bun.sleep(SETTLE_MS)
  const [usedMs, startedAt] = [await readUsedMs(), performance.now()]
  await Bun.sleep(IDLE_MS)
  const percent = (100 * ((await readUsedMs()) - usedMs)) / (performance.now() - startedAt)
  return {
    name: 'processor of an idle container',
    ours: percent,
    bare: null,
    unit: '%',
    value: percent,
    bound: 'at most',
    layer: 0.1,
    aim: null,
    notes: [`of one core, for ${IDLE_MS / 1000} s`],
  }
}

async function deployAll(stead: Stead, cookie: string): Promise<number[]> {
  const seconds: number[] = []
  for (let deployment = 0; deployment < DEPLOYMENTS; deployment++) {
    const agent = await deployAgent(stead, cookie, `Agent ${deployment}`)
    seconds.push(agent.seconds)
    await deleteAgent(stead, cookie, agent.id)
  }
  return seconds
}

/** Waits until the engine has removed the containers, and removes what remains with its volume and network. */
async function removeLeftovers(engine: Engine, instance: string): Promise<void> {
  const filters = { label: [`${LABELS.instance}=${instance}`] }
  await engine.change(async (docker) => {
    for (const { Id } of await docker.listContainers({ all: true, filters })) {
      await orNull(docker.getContainer(Id).remove({ force: true, v: true }))
    }
    for (const { Name } of (await docker.listVolumes({ filters })).Volumes)
      await orNull(docker.getVolume(Name).remove())
    for (const { Id } of await docker.listNetworks({ filters })) await orNull(docker.getNetwork(Id).remove())
  })
}
