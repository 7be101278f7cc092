import type { ContainerInspectInfo } from 'dockerode'
import {
  type AgentStats,
  agentNotFound,
  agentNotRunning,
  BAD_CONFIGURATION_EXIT,
  type Inspection,
  MAX_LOG_LINES,
  type Runtime,
} from '../contract/runtime.ts'
import { STOP_SECONDS } from '../engine/container.ts'
import { agentDrivers } from '../engine/drivers.ts'
import { type Engine, LABELS } from '../engine/engine.ts'
import { noFiles, openVolumeFiles } from '../engine/files.ts'
import { BUILT_IN_IMAGE, type EngineRuntimeDeps, EngineShell } from '../engine/shell.ts'
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

const AT_ONCE = 8

/**
 * Agents as containers of one engine, which keeps them running without the platform. The engine may come and go: calls
 * fail within 5 s while it is away. Containers that do not have this installation's labels are never touched.
 */
export function createDockerRuntime(deps: EngineRuntimeDeps): Runtime {
  const { engine, instance, log, filesImages = [BUILT_IN_IMAGE] } = deps
  const shell = new EngineShell(deps)
  const asked = new AskedFor()

  const parts: DockerAgentDeps = {
    engine,
    instance,
    asked,
    digestKey: deps.digestKey,
    drivers: agentDrivers,
    network: createDockerNetwork(engine, instance),
    countCpus: createCpuCount(engine),
  }
  const getContainer = async (id: string) => {
    const container = await findContainer(parts, id)
    if (!container) throw agentNotFound()
    return container
  }

  const inspect = async (id: string): Promise<Inspection | null> => {
    const container = await findContainer(parts, id)
    if (container) shell.known.add(id)
    else shell.known.delete(id)
    return container && toInspection(container, watch.endedOutOfMemory(container.Id))
  }

  const listIds = async () => [...(await listNamed(deps)).union(shell.known)].sort()
  const list = async () => inspectAll(await listIds(), inspect)

  const watch = watchDocker({
    engine,
    instance,
    asked,
    log,
    listKnown: listIds,
    giveUp: (id) => shell.change(id, () => giveUpMisconfigured(parts, id)),
  })

  const deploy: Runtime['deploy'] = (spec) => shell.deploy(spec, (checked) => deployAgent(parts, checked))

  return {
    name: 'docker',
    ...shell.common,
    deploy,
    // The engine says `running` of a container that it restarts, and one with this spec is not touched.
    renew: deploy,
    start: (id, options) => shell.change(id, () => startAgent(parts, id, { repair: options?.repair ?? false })),
    stop: (id) => shell.change(id, () => stopAgent(parts, id, STOP_SECONDS)),
    kill: (id) => shell.change(id, () => stopAgent(parts, id, 0)),
    restart: (id) => shell.change(id, () => restartAgent(parts, id)),
    async remove(id) {
      await shell.change(id, () => removeAgent(parts, id))
      shell.forget(id)
    },
    inspect: (id) => shell.look(() => inspect(id)),
    list: () => shell.look(list),
    stats: (id) => shell.look(async () => readStats(shell, id, await getContainer(id))),
    logs: (id, { tail }) =>
      shell.look(async () => readLastLines(parts, await getContainer(id), Math.min(tail, MAX_LOG_LINES))),
    followLogs: (id, options) => followLines(parts, () => findContainer(parts, id), options),
    watch: (signal) => watch.listen(signal),
    snapshot: (id, file) => shell.change(id, () => snapshotAgent(parts, id, file)),
    restore: (id, file) => shell.change(id, () => restoreAgent(parts, id, file)),
    openFiles: (id) => shell.look(() => openFiles(parts, id, filesImages)),
    platformHost: () => shell.look(() => parts.network.openNetwork()),
    isAvailable: async () => !shell.isClosed && engine.isAnswering(),
    async close({ stopAgents = false } = {}) {
      if (shell.isClosed) return
      const ids = stopAgents ? await listIds().catch(() => []) : []
      watch.close()
      await shell.close()
      await Promise.all(ids.map((id) => haltAgent(parts, id, STOP_SECONDS)))
    },
  }
}

/** The ids of the agents whose containers the engine names. */
async function listNamed({ engine, instance }: EngineRuntimeDeps): Promise<Set<string>> {
  const filters = { label: [`${LABELS.instance}=${instance}`, LABELS.agent] }
  const found = await engine.ask((docker, abortSignal) => docker.listContainers({ all: true, filters, abortSignal }))
  return new Set(found.flatMap(({ Labels }) => Labels[LABELS.agent] ?? []))
}

/** How many processors the engine has, asked once; a failed answer is not kept. */
function createCpuCount(engine: Engine): () => Promise<number> {
  let cpus: Promise<number> | null = null
  return () => {
    cpus ??= engine.ask(async (docker) => (await docker.info()).NCPU)
    return cpus.catch((error: unknown) => {
      cpus = null
      throw error
    })
  }
}

/** What restarts for ever, because it cannot use what it was configured with, is stopped. */
async function giveUpMisconfigured(parts: DockerAgentDeps, id: string): Promise<void> {
  const container = await findContainer(parts, id)
  const { Restarting, ExitCode } = container?.State ?? {}
  if (container && Restarting && ExitCode === BAD_CONFIGURATION_EXIT) await giveUp(parts, container)
}

/** The files of an agent, by a helper of one of `filesImages`. @throws AppError when the agent has no volume. */
async function openFiles(parts: DockerAgentDeps, id: string, filesImages: readonly string[]) {
  const container = await findContainer(parts, id)
  const driver = container && driverOf(parts, container)
  const name = driver && volumeAt(container, driver.stateDir)
  if (!name) throw noFiles()
  const { engine, instance } = parts
  return openVolumeFiles({ engine, instance, filesImages }, { agentId: id, name, driver })
}

/** What a container uses that is not between two starts. */
async function readStats(shell: EngineShell, id: string, container: ContainerInspectInfo): Promise<AgentStats> {
  if (!container.State.Running || container.State.Restarting) throw agentNotRunning()
  return shell.measure(id, container)
}

async function inspectAll(ids: readonly string[], inspect: (id: string) => Promise<Inspection | null>) {
  const inspections: Inspection[] = []
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const batch = await Promise.all(ids.slice(at, at + AT_ONCE).map(inspect))
    inspections.push(...batch.filter((found) => found !== null))
  }
  return inspections
}
