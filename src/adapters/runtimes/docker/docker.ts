import { Readable } from 'node:stream'
import type { ContainerInspectInfo } from 'dockerode'
import { errorMessage } from '../../../core/errors.ts'
import { createRelays, type Relays } from '../contract/relay.ts'
import {
  agentNotFound,
  agentNotRunning,
  BAD_CONFIGURATION_EXIT,
  type Inspection,
  isEngineUnavailable,
  MAX_LOG_LINES,
  type Runtime,
  type RuntimeLogLine,
  type RuntimeStats,
} from '../contract/runtime.ts'
import { readState, STOP_SECONDS } from '../engine/container.ts'
import { type Engine, hasStatus, LABELS } from '../engine/engine.ts'
import { noFiles, openVolumeFiles } from '../engine/files.ts'
import { readLogLines, sinceOf } from '../engine/logs.ts'
import { agentDrivers, BUILT_IN_IMAGE, type EngineRuntimeDeps, EngineShell } from '../engine/shell.ts'
import {
  agentKindOf,
  type DockerAgentDeps,
  deployInDocker,
  driverOf,
  findContainer,
  haltInDocker,
  removeFromDocker,
  restartInDocker,
  restoreInDocker,
  snapshotInDocker,
  startInDocker,
  stopInDocker,
} from './agent.ts'
import { canLimitHost, limitHostPorts } from './host-ports.ts'
import { createDockerNetwork } from './network.ts'
import { connectToContainer } from './reach.ts'
import { type Container, giveUp, isRunning, type StepDeps, toInspection, volumeAt } from './steps.ts'
import { ExpectedEvents, watchDocker } from './watch.ts'

const AT_ONCE = 8

/**
 * Creates the runtime of containers in one engine, which restarts them without the platform. While the engine is away,
 * calls fail within 5 s. Containers without this installation's labels are never touched.
 */
export function createDockerRuntime(deps: EngineRuntimeDeps): Runtime {
  const { engine, instance, log, filesImages = [BUILT_IN_IMAGE] } = deps
  const shell = new EngineShell(deps)
  const asked = new ExpectedEvents()

  const parts = openParts(deps, asked)
  const { relays, network } = parts
  const getContainer = async (id: string) => {
    const container = await findContainer(parts, id)
    if (!container) throw agentNotFound()
    return container
  }

  const inspect = async (id: string): Promise<Inspection | null> => {
    const container = await findContainer(parts, id)
    if (container) shell.known.add(id)
    else shell.known.delete(id)
    if (container && isRunning(container)) await reopenPort(deps, relays, container)
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

  // Fails when the engine is unreachable; every later inspection opens the ports too.
  void list().catch(() => undefined)

  const deploy: Runtime['deploy'] = (spec) => shell.deploy(spec, (checked) => deployInDocker(parts, checked))

  return {
    name: 'docker',
    ...shell.common,
    deploy,
    // The engine reports a container as running while it restarts it, and an equal spec changes nothing.
    renew: deploy,
    start: (id, options) => shell.change(id, () => startInDocker(parts, id, { repair: options?.repair ?? false })),
    stop: (id) => shell.change(id, () => stopInDocker(parts, id, STOP_SECONDS)),
    kill: (id) => shell.change(id, () => stopInDocker(parts, id, 0)),
    restart: (id) => shell.change(id, () => restartInDocker(parts, id)),
    async remove(id) {
      await shell.change(id, () => removeFromDocker(parts, id))
      relays.close(id)
      shell.forget(id)
    },
    inspect: (id) => shell.look(() => inspect(id)),
    list: () => shell.look(list),
    stats: (id) => shell.look(async () => readStats(shell, id, await getContainer(id))),
    logs: (id, { tail }) =>
      shell.look(async () => readLastLines(parts, await getContainer(id), Math.min(tail, MAX_LOG_LINES))),
    followLogs: (id, options) => followLines(parts, () => findContainer(parts, id), options),
    watch: (signal) => watch.listen(signal),
    snapshot: (id, file) => shell.change(id, () => snapshotInDocker(parts, id, file)),
    restore: (id, file) => shell.change(id, () => restoreInDocker(parts, id, file)),
    openFiles: (id) => shell.look(() => openFiles(parts, id, filesImages)),
    egressGap: () => null,
    platformHost: () => shell.look(() => parts.network.openNetwork()),
    async limitHostPorts(ports) {
      if (canLimitHost() && engine.isLocal) await limitHostPorts(network.interfaceName, ports)
    },
    isAvailable: async () => !shell.isClosed && engine.isAnswering(),
    async close({ stopAgents = false } = {}) {
      if (shell.isClosed) return
      const ids = stopAgents ? await listIds().catch(() => []) : []
      watch.close()
      await shell.close()
      relays.closeAll()
      await Promise.all(ids.map((id) => haltInDocker(parts, id, STOP_SECONDS)))
    },
  }
}

function openParts({ engine, instance, digestKey }: EngineRuntimeDeps, asked: ExpectedEvents): DockerAgentDeps {
  const network = createDockerNetwork(engine, instance)
  const relays = createRelays(async (id) => {
    const container = await findContainer({ engine, instance }, id)
    return container && connectToContainer(container, network.name, agentDrivers[agentKindOf(container)].port)
  })
  const own = { drivers: agentDrivers, network, relays, countCpus: createCpuCount(engine) }
  return { engine, instance, asked, digestKey, ...own }
}

/** Agents run on while the platform does not, so their ports are opened when they are found. */
async function reopenPort({ log }: EngineRuntimeDeps, relays: Relays, { Config }: Container): Promise<void> {
  const { [LABELS.agent]: agentId = '', [LABELS.port]: port } = Config.Labels
  await relays.open(agentId, Number(port)).catch((error: unknown) => {
    log.warn({ agentId, error: errorMessage(error) }, 'the port of an agent cannot be opened')
  })
}

/** Lists the ids of agents with a container. */
async function listNamed({ engine, instance }: EngineRuntimeDeps): Promise<Set<string>> {
  const filters = { label: [`${LABELS.instance}=${instance}`, LABELS.agent] }
  const found = await engine.ask((docker, abortSignal) => docker.listContainers({ all: true, filters, abortSignal }))
  return new Set(found.flatMap(({ Labels }) => Labels[LABELS.agent] ?? []))
}

/** Caches the number of processors; a failed query is not cached. */
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

/** Stops an agent that restarts for ever with a bad configuration. */
async function giveUpMisconfigured(parts: DockerAgentDeps, id: string): Promise<void> {
  const container = await findContainer(parts, id)
  const { Restarting, ExitCode } = container?.State ?? {}
  if (container && Restarting && ExitCode === BAD_CONFIGURATION_EXIT) await giveUp(parts, container)
}

/** Opens the files of an agent through a helper container. @throws AppError without a volume. */
async function openFiles(parts: DockerAgentDeps, id: string, filesImages: readonly string[]) {
  const container = await findContainer(parts, id)
  const driver = container && driverOf(parts, container)
  const name = driver && volumeAt(container, driver.stateDir)
  if (!name) throw noFiles()
  const { engine, instance } = parts
  return openVolumeFiles({ engine, instance, filesImages }, { agentId: id, name, driver })
}

/** Measures a container that is not restarting. */
async function readStats(shell: EngineShell, id: string, container: ContainerInspectInfo): Promise<RuntimeStats> {
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

/**
 * Writes the state of an agent to `file`, a gzipped tar of mode 0600, whether it runs or not, without changing
 * anything. Files that the agent writes during the copy may be missing.
 * @throws AppError `not_found` without a container, `internal` {code: 'ENGINE_UNAVAILABLE'}.
 */
export async function readStoredInDocker(
  { engine, instance }: { engine: Engine; instance: string },
  id: string,
  file: string,
): Promise<void> {
  const container = await findContainer({ engine, instance }, id)
  if (!container) throw agentNotFound()
  await readState(engine, container.Id, driverOf({ drivers: agentDrivers }, container).stateDir, file)
}

const LOOK_AGAIN_MS = 500

/** Returns the last `tail` lines of a container, oldest first. */
async function readLastLines(deps: StepDeps, container: Container, tail: number): Promise<string[]> {
  const bytes = await deps.engine.change((docker, abortSignal) =>
    docker
      .getContainer(container.Id)
      .logs({ follow: false, stdout: true, stderr: true, timestamps: true, tail, abortSignal }),
  )
  return Array.fromAsync(readLogLines(Readable.from([bytes]), null), ({ text }) => text)
}

/**
 * Yields the lines after `after` and new ones, across containers, until `find` returns none or `signal` aborts. Waits
 * while the engine does not respond.
 */
async function* followLines(
  deps: StepDeps,
  find: () => Promise<Container | null>,
  { after, signal }: { after: string | null; signal: AbortSignal },
): AsyncGenerator<RuntimeLogLine, void> {
  let cursor = after
  let finished = ''
  while (!signal.aborted) {
    try {
      const container = await find()
      if (!container) return
      const run = `${container.Id} ${container.State.StartedAt}`
      if (container.State.Running || run !== finished) {
        for await (const line of readLogLines(await openLog(deps, container, cursor, signal), cursor)) {
          cursor = line.cursor
          yield line
        }
        finished = run
      }
    } catch (error) {
      // A removed container has a successor or none; the next check decides.
      if (!signal.aborted && !isEngineUnavailable(error) && !hasStatus(error, 404, 409)) throw error
    }
    await pause(LOOK_AGAIN_MS, signal)
  }
}

function openLog(deps: StepDeps, container: Container, cursor: string | null, signal: AbortSignal) {
  const which = { stdout: true, stderr: true, timestamps: true, since: sinceOf(cursor) }
  return deps.engine.stream(
    (docker) => docker.getContainer(container.Id).logs({ follow: true, ...which, abortSignal: signal }),
    signal,
  )
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  const wake = () => resolve()
  signal.addEventListener('abort', wake)
  return promise.finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', wake)
  })
}
