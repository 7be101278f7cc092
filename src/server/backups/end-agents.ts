import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createEngine, type Engine, LABELS } from '../../adapters/runtimes/engine/engine.ts'
import { agentDrivers } from '../../adapters/runtimes/engine/shell.ts'
import { agentFolder, findRecord, listFolders } from '../../adapters/runtimes/process/files.ts'
import { endProcesses, isAlive } from '../../adapters/runtimes/process/spawn.ts'
import { createProcessTable } from '../../adapters/runtimes/process/table.ts'
import { stopInSwarm } from '../../adapters/runtimes/swarm/agent.ts'
import {
  ClusterGuard,
  isManager,
  listAgentServices,
  NO_KEPT_STATES,
  type SwarmRuntimeParts,
} from '../../adapters/runtimes/swarm/cluster.ts'
import { wantedOf } from '../../adapters/runtimes/swarm/spec.ts'
import { TIMING } from '../../adapters/runtimes/swarm/swarm.ts'

/** Same grace period as a container. */
const GRACE_MS = 30_000

/**
 * Stops the agents of a stopped installation (processes, containers, swarm services): they outlive the server and would
 * write into the restored folders.
 * @returns their ids.
 */
export async function endAgents(dataDir: string, dockerHost: string): Promise<string[]> {
  const ended = await Promise.all([endProcessAgents(join(dataDir, 'agents')), endInEngine(dataDir, dockerHost)])
  return ended.flat().sort()
}

async function endProcessAgents(root: string): Promise<string[]> {
  const table = createProcessTable()
  const end = async (id: string) => {
    const folder = agentFolder(root, id)
    const identity = (await findRecord(folder))?.process ?? null
    const isRunning = identity !== null && (await isAlive(table, identity))
    await endProcesses(table, folder, identity, GRACE_MS)
    return isRunning ? [id] : []
  }
  return (await Promise.all((await listFolders(root)).map(end))).flat()
}

/** Stops agents in the container engine; an engine that does not answer runs none. */
async function endInEngine(dataDir: string, dockerHost: string): Promise<string[]> {
  const instanceFile = join(dataDir, 'instance.id')
  const engine = createEngine(dockerHost)
  if (!existsSync(instanceFile) || !(await engine.isAnswering())) return []
  const instance = readFileSync(instanceFile, 'utf8').trim()
  // Stop services first: the swarm would restart their containers.
  const services = await stopServices(engine, instance)
  return [...services, ...(await stopContainers(engine, instance))]
}

async function stopServices(engine: Engine, instance: string): Promise<string[]> {
  if (!(await isManager(engine).catch(() => false))) return []
  const parts: SwarmRuntimeParts = {
    engine,
    instance,
    digestKey: '',
    drivers: agentDrivers,
    timing: TIMING,
    cluster: new ClusterGuard(TIMING.anewMs, () => undefined),
    filesImages: [],
    volumeDriver: null,
    keptStates: NO_KEPT_STATES,
  }
  const running = (await listAgentServices(parts)).filter(({ service }) => wantedOf(service) === 'running')
  const stop = async ({ service }: (typeof running)[number]) => {
    const id = service.Spec.Labels[LABELS.agent] ?? ''
    await stopInSwarm(parts, id)
    return id
  }
  return Promise.all(running.map(stop))
}

async function stopContainers(engine: Engine, instance: string): Promise<string[]> {
  const label = [`${LABELS.instance}=${instance}`, LABELS.agent]
  const running = await engine.ask((docker, abortSignal) => docker.listContainers({ filters: { label }, abortSignal }))
  const stop = async ({ Id, Labels }: (typeof running)[number]) => {
    await engine.change((docker) => docker.getContainer(Id).stop({ t: GRACE_MS / 1000 }))
    return Labels[LABELS.agent] ?? Id
  }
  return Promise.all(running.map(stop))
}
