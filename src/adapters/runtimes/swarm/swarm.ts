import QuickLRU from 'quick-lru'
import { AppError } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { agentNotFound, agentNotRunning, MAX_LOG_LINES, type Runtime, type RuntimeStats } from '../contract/runtime.ts'
import { type Engine, LABELS, toEngineError } from '../engine/engine.ts'
import { openVolumeFiles } from '../engine/files.ts'
import { agentDrivers, BUILT_IN_IMAGE, type EngineRuntimeDeps, EngineShell } from '../engine/shell.ts'
import {
  copyStateInSwarm,
  deployInSwarm,
  killInSwarm,
  removeFromSwarm,
  restartInSwarm,
  restoreInSwarm,
  snapshotInSwarm,
  startInSwarm,
  stopInSwarm,
} from './agent.ts'
import {
  type AgentService,
  ClusterGuard,
  findAgentService,
  findCurrent,
  findPlatformHost,
  findTaskContainer,
  getAgentService,
  isManager,
  listAgentServices,
  look,
  NO_KEPT_STATES,
  type SwarmRuntimeParts,
  type SwarmTiming,
} from './cluster.ts'
import { getVolume, readVolume, requireHere } from './files.ts'
import { RestartCounter, toInspections } from './inspection.ts'
import { followLines, readServiceLog } from './logs.ts'
import { driverOfService, wantedOf } from './spec.ts'
import { watchSwarm } from './watch.ts'

/** `timing` is for tests. */
type SwarmRuntimeDeps = EngineRuntimeDeps &
  Partial<Pick<SwarmRuntimeParts, 'keptStates' | 'volumeDriver'>> & { timing?: Partial<SwarmTiming> }

export const TIMING: SwarmTiming = {
  pollMs: 1000,
  restartDelayMs: 5000,
  nodeGraceMs: 60_000,
  startMs: 60_000,
  anewMs: 5000,
}

/** Maximum number of remembered removals; the engine reports their completion within seconds. */
const MAX_REMOVED = 1000

/**
 * Creates the runtime of agents as Docker Swarm services, on any node. The engine must be a manager. An agent stays on
 * its first node, which has its volume; when that node has been lost for a minute, it starts elsewhere with the newest
 * copy of its files. Services without this installation's labels are never touched.
 */
export function createSwarmRuntime(deps: SwarmRuntimeDeps): Runtime {
  const { engine, log } = deps
  const shell = new EngineShell(deps)
  const parts = toParts(deps, shell)
  const removedHere = new QuickLRU<string, true>({ maxSize: MAX_REMOVED })
  const counter = new RestartCounter()

  const listFound = () => listKnown(parts, shell)
  const change: EngineShell['change'] = (id, work) => shell.change(id, work)
  const watch = watchSwarm({ ...parts, log, counter, change, wasRemovedHere: (id) => removedHere.has(id) })
  startHeld(parts, shell).catch((error: unknown) =>
    log.warn({ error: toEngineError(error).message }, 'held agents were not started'),
  )

  const remove = async (id: string) => {
    await change(id, () => {
      removedHere.set(id, true)
      return removeEverywhere(parts, id, log)
    })
    shell.forget(id)
  }

  const deploy: Runtime['deploy'] = (spec) =>
    shell.deploy(spec, async (checked) => {
      await deployInSwarm(parts, checked)
      removedHere.delete(checked.id)
    })

  return {
    name: 'swarm',
    ...shell.common,
    deploy,
    // An equal spec changes nothing, whatever its task does.
    renew: deploy,
    start: (id, options) => change(id, () => startInSwarm(parts, id, { repair: options?.repair ?? false })),
    stop: (id) => change(id, () => stopInSwarm(parts, id)),
    kill: (id) => change(id, () => killInSwarm(parts, id)),
    restart: (id) => change(id, () => restartInSwarm(parts, id)),
    remove,
    inspect: (id) => shell.look(() => inspectOne(parts, shell, counter, id)),
    list: () =>
      shell.look(async () => {
        const inspections = await toInspections(parts, counter, await listFound())
        return inspections.sort((a, b) => a.id.localeCompare(b.id))
      }),
    stats: (id) => shell.look(() => readStats(parts, shell, id)),
    logs: (id, { tail }) =>
      shell.look(async () => readServiceLog(parts, await getAgentService(parts, id), Math.min(tail, MAX_LOG_LINES))),
    async *followLogs(id, options) {
      shell.requireOpen()
      yield* followLines(parts, id, options)
    },
    watch: (signal) => watch.listen(signal),
    snapshot: (id, file) => change(id, () => snapshotInSwarm(parts, id, file)),
    restore: (id, file) => change(id, () => restoreInSwarm(parts, id, file)),
    copyState: (id, file) => change(id, () => copyStateInSwarm(parts, id, file)),
    openFiles: (id) => shell.look(() => openFiles(parts, id)),
    egressGap: () => 'Agents in a swarm have a network with a route to the internet',
    platformHost: () => shell.look(() => findPlatformHost(parts)),
    isAvailable: async () => !shell.isClosed && isManager(engine).catch(() => false),
    async close({ stopAgents = false } = {}) {
      if (shell.isClosed) return
      const agents = stopAgents ? await listFound().catch(() => []) : []
      watch.close()
      await shell.close()
      await Promise.all(agents.map((agent) => hold(parts, agent)))
    },
  }
}

function toParts(deps: SwarmRuntimeDeps, shell: EngineShell): SwarmRuntimeParts {
  const { engine, log, instance, digestKey, filesImages = [BUILT_IN_IMAGE] } = deps
  const timing = { ...TIMING, ...deps.timing }
  return {
    ...{ engine, instance, digestKey, timing, filesImages, drivers: agentDrivers },
    ...{ keptStates: deps.keptStates ?? NO_KEPT_STATES, volumeDriver: deps.volumeDriver ?? null },
    cluster: new ClusterGuard(timing.anewMs, (swarm) => {
      log.warn({ swarm }, 'the swarm was made anew: its agents are gone, and are started in it again')
      shell.forget()
    }),
  }
}

async function listKnown(parts: SwarmRuntimeParts, { known }: EngineShell): Promise<AgentService[]> {
  const found = await listAgentServices(parts)
  const ids = new Set(found.map(({ service }) => service.Spec.Labels[LABELS.agent] ?? ''))
  const unnamed = await Promise.all([...known.difference(ids)].map((id) => findAgentService(parts, id)))
  for (const id of ids) known.add(id)
  return [...found, ...unnamed.filter((one) => one !== null)]
}

/** Starts the agents that the platform stopped when it last shut down. */
async function startHeld(parts: SwarmRuntimeParts, shell: EngineShell): Promise<void> {
  const held = (await listAgentServices(parts)).filter(({ service }) => wantedOf(service) === 'held')
  const ids = held.map(({ service }) => service.Spec.Labels[LABELS.agent] ?? '')
  await Promise.all(ids.map((id) => shell.change(id, () => startInSwarm(parts, id, { repair: false }))))
}

/** Stops an agent until the platform starts again. */
async function hold(parts: SwarmRuntimeParts, { service }: AgentService): Promise<void> {
  if (wantedOf(service) === 'running') await stopInSwarm(parts, service.Spec.Labels[LABELS.agent] ?? '', 'held')
}

async function readStats(parts: SwarmRuntimeParts, shell: EngineShell, id: string): Promise<RuntimeStats> {
  const found = await getAgentService(parts, id)
  const task = findCurrent(found)
  if (!task) throw agentNotRunning()
  const self = await look(parts, async (_docker, { nodeId }) => nodeId)
  if (task.NodeID !== self) throw new AppError('unavailable', 'Figures are only known on its own node')
  const container = await findTaskContainer(parts, task)
  if (!container?.State.Running) throw agentNotRunning()
  return shell.measure(id, container)
}

/** Opens the files of an agent on this node. @throws AppError when it is on another one. */
async function openFiles(parts: SwarmRuntimeParts, id: string) {
  const { service } = await getAgentService(parts, id)
  await requireHere(parts, service)
  const volume = { agentId: id, name: getVolume(parts, service), driver: driverOfService(parts, service) }
  return openVolumeFiles(parts, volume)
}

async function removeEverywhere(parts: SwarmRuntimeParts, id: string, log: Log): Promise<void> {
  const left = await removeFromSwarm(parts, id)
  if (left) log.warn({ agentId: id, ...left }, 'a volume of the agent is left on another machine of the swarm')
}

async function inspectOne(parts: SwarmRuntimeParts, { known }: EngineShell, counter: RestartCounter, id: string) {
  const found = await findAgentService(parts, id)
  if (!found) return null
  known.add(id)
  const [inspection] = await toInspections(parts, counter, [found])
  return inspection ?? null
}

/**
 * Reads the state like `readStoredInDocker`, for an agent whose volume is on the node of `engine`.
 * @throws AppError `not_found` without a service, `unavailable` {code: 'ON_ANOTHER_NODE'}, `internal`
 * {code: 'ENGINE_UNAVAILABLE'}.
 */
export async function readStoredInSwarm(
  { engine, instance }: { engine: Engine; instance: string },
  id: string,
  file: string,
): Promise<void> {
  const cluster = new ClusterGuard(TIMING.anewMs, () => {})
  const nothing = { digestKey: '', filesImages: [BUILT_IN_IMAGE], volumeDriver: null, keptStates: NO_KEPT_STATES }
  const deps: SwarmRuntimeParts = { engine, instance, drivers: agentDrivers, timing: TIMING, cluster, ...nothing }
  const found = await findAgentService(deps, id)
  if (!found) throw agentNotFound()
  await readVolume(deps, found.service, file)
}
