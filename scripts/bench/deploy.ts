import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createEngine, type Engine, LABELS, orNull } from '../../src/adapters/engine.ts'
import { hasImage } from '../../src/adapters/engine-images.ts'
import { VERSION } from '../../src/core/version.ts'
import { median } from './median.ts'
import { type Measurement, toFigure } from './report.ts'
import { createUser, deleteAgent, deployAgent, type House, prepareHouse, signIn, startStead } from './stead.ts'
import type { Workbench } from './workbench.ts'

const DEPLOYMENTS = 5

/** From `POST /api/agents/provision` of an agent that is a process to `running`. */
export async function measureDeploy(bench: Workbench): Promise<Measurement[]> {
  const house = await prepareHouse(bench, { AI_ECHO: 'true' })
  return [toMeasurement('deploy a process', await deployAll(bench, house), 2)]
}

/** The same of an agent in a container. Nothing without an engine that has the image (`bun run agent:image`). */
export async function measureContainer(bench: Workbench): Promise<Measurement[]> {
  const dockerHost = process.env.DOCKER_HOST ?? '/var/run/docker.sock'
  const engine = createEngine(dockerHost)
  const image = process.env.AGENT_IMAGE ?? `stead-agent:${VERSION}`
  if (!(await engine.isAnswering()) || !(await hasImage(engine, image))) {
    console.error(`  container: no engine at ${dockerHost} has ${image}, not measured`)
    return []
  }
  const settings = { AGENT_RUNTIME: 'docker', DOCKER_HOST: dockerHost, AGENT_IMAGE: image, AI_ECHO: 'true' }
  const house = await prepareHouse(bench, settings)
  try {
    return [toMeasurement('deploy a container', await deployAll(bench, house), 5)]
  } finally {
    const instance = (await readFile(join(house.dataDir, 'instance.id'), 'utf8')).trim()
    await removeLeftovers(engine, instance)
  }
}

async function deployAll(bench: Workbench, house: House): Promise<number[]> {
  const email = await createUser(bench, house, 'network')
  const stead = await startStead(bench, house)
  const cookie = await signIn(stead, email)
  const seconds: number[] = []
  for (let deployment = 0; deployment < DEPLOYMENTS; deployment++) {
    const agent = await deployAgent(stead, cookie, `Agent ${deployment}`)
    seconds.push(agent.seconds)
    await deleteAgent(stead, cookie, agent.id)
  }
  return seconds
}

function toMeasurement(name: string, seconds: number[], floor: number): Measurement {
  const typical = median(seconds)
  return {
    name,
    ours: typical,
    bare: null,
    unit: 's',
    value: typical,
    bound: 'at most',
    floor,
    aim: null,
    notes: [`fastest ${toFigure(Math.min(...seconds))} s, slowest ${toFigure(Math.max(...seconds))} s`],
  }
}

/** The engine removes containers in its own time: what is still there goes with its volume and network. */
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
