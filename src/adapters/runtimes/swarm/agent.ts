import type Docker from 'dockerode'
import { AppError } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import type { AgentImage } from '../contract/agent-image.ts'
import { type AgentSpec, agentNotFound, agentRunning, imageNotFound, portTaken } from '../contract/runtime.ts'
import { STOP_SECONDS, toDigest } from '../engine/container.ts'
import { hasStatus, LABELS, orNull } from '../engine/engine.ts'
import { endFilesContainers } from '../engine/files.ts'
import { findImage } from '../engine/images.ts'
import {
  findExitCode,
  hasEnded,
  isUsable,
  mayRun,
  type Service,
  type ServiceSpec,
  type Task,
  wasStarted,
} from './answers.ts'
import {
  changeService,
  type Found,
  findAgent,
  findContainer,
  findCurrent,
  generationOf,
  listNodes,
  listTasks,
  listUnended,
  look,
  type SwarmDeps,
  toServiceName,
} from './cluster.ts'
import { eraseElsewhere } from './erase.ts'
import { getVolume, listVolumes, markForRepair, readVolume, removeVolume, writeVolume } from './files.ts'
import { dropSecrets, keepSecrets } from './secrets.ts'
import { EXIT_LABEL, NODE_LABEL, toServiceSpec, WANTED_LABEL, type Wanted } from './spec.ts'

const LOOK_AGAIN_MS = 100
/** On another machine a start that fails does so within this time. */
const STEADY_MS = 1500
/** A task that just failed counts as holding its port until the swarm has put it away. */
const PORT_STEADY_MS = 6000
const MAX_FAILURES = 3
const END_MS = (STOP_SECONDS + 30) * 1000
const PORT_IN_USE = /port is already allocated|address already in use/i
const PORT_WANTED = /host-mode port already in use/i

/** @throws AppError as `Runtime.deploy`, `not_found` {code: 'IMAGE_NOT_FOUND'}. */
export async function deployAgent(deps: SwarmDeps, spec: AgentSpec): Promise<void> {
  const { image: reference } = spec
  if (reference === null) throw new AppError('invalid', 'Agent spec: image is required')
  const digest = toDigest(deps.digestKey, spec)
  const found = await findAgent(deps, spec.id)
  const isSame = found?.service.Spec.Labels[LABELS.digest] === digest
  if (found && isSame && wantedOf(found.service) === 'running') return
  const image = await findImage(deps.engine, reference)
  if (image === null) throw imageNotFound(reference)
  const order = await toOrder(deps, found?.service ?? null, { spec, image, digest })
  await (found ? replace(deps, found.service, order, spec) : create(deps, order, spec))
  await dropSecrets(deps, spec.id, secretsOf(order))
}

/** @throws AppError as `Runtime.start`. */
export async function startAgent(deps: SwarmDeps, id: string, options: { repair: boolean }): Promise<void> {
  const { service } = await getAgent(deps, id)
  if (wantedOf(service) === 'running') return
  if (options.repair) await repairWherePossible(deps, service)
  await launch(deps, id, service)
}

/** Ends it, by force after 30 s. @throws AppError `not_found`. */
export async function stopAgent(deps: SwarmDeps, id: string, wanted: Wanted = 'stopped'): Promise<void> {
  const found = await getAgent(deps, id)
  // Scaled down first: what then ends must not come back.
  await changeService(deps, found.service, (spec) => scale(spec, wanted, 0))
  await endHere(deps, found, (container) => container.stop({ t: STOP_SECONDS }))
  await waitUntil(() => hasEndedEverywhere(deps, id))
}

/** Ends it by force at once where the engine is the agent's own; elsewhere as `stopAgent`. @throws AppError `not_found`. */
export async function killAgent(deps: SwarmDeps, id: string): Promise<void> {
  const found = await getAgent(deps, id)
  await changeService(deps, found.service, (spec) => scale(spec, 'stopped', 0))
  await endHere(deps, found, (container) => container.kill())
  await waitUntil(() => hasEndedEverywhere(deps, id))
}

/** @throws AppError as `Runtime.restart`. */
export async function restartAgent(deps: SwarmDeps, id: string): Promise<void> {
  const { service } = await getAgent(deps, id)
  await launch(deps, id, service)
}

/** The volume of an agent that is gone, on a machine that only its own engine can tidy up. */
export type LeftVolume = { node: string; volume: string; isEmpty: boolean }

/** Ends it and deletes all that it has stored: of a volume on another machine what is in it, which is all that can be done. */
export async function removeAgent(deps: SwarmDeps, id: string): Promise<LeftVolume | null> {
  const found = await findAgent(deps, id)
  if (found) {
    await stopAgent(deps, id)
    await deps.engine.change((docker, abortSignal) =>
      orNull(docker.getService(found.service.ID).remove({ abortSignal })),
    )
  }
  await removeNetwork(deps, id)
  await dropSecrets(deps, id, new Set())
  await removeVolumes(deps, id, null)
  const node = found?.service.Spec.Labels[NODE_LABEL]
  if (!found || node === undefined || node === (await findSelf(deps))) return null
  const isEmpty = await eraseElsewhere(deps, id, found.service, node)
  return { node, volume: getVolume(deps, found.service), isEmpty }
}

/** @throws AppError as `Runtime.snapshot`, `unavailable` when its files are on another machine. */
export async function snapshotAgent(deps: SwarmDeps, id: string, file: string): Promise<void> {
  await readVolume(deps, (await getStopped(deps, id)).service, file)
}

/** @throws AppError as `Runtime.restore`, `unavailable` when its files are on another machine. */
export async function restoreAgent(deps: SwarmDeps, id: string, file: string): Promise<void> {
  const { service } = await getStopped(deps, id)
  const old = getVolume(deps, service)
  const volume = newVolumeName(deps, id)
  await writeVolume(deps, service, volume, file)
  await changeService(deps, service, (spec) => withVolume(spec, old, volume))
  await removeVolumes(deps, id, volume)
}

/** Lets it stay where its files are, or, with null, go where it can. Neither ends a running task. */
export async function pinAgent(deps: SwarmDeps, service: Service, nodeId: string | null): Promise<void> {
  if ((service.Spec.Labels[NODE_LABEL] ?? null) === nodeId) return
  await changeService(deps, service, (spec) => withNode(spec, nodeId))
}

/** Leaves an agent down that ended with `exitCode` for a reason that another start does not mend. */
export async function giveUpAgent(deps: SwarmDeps, service: Service, exitCode: number): Promise<void> {
  await changeService(deps, service, (spec) => {
    const down = scale(spec, 'exited', 0)
    return { ...down, Labels: { ...down.Labels, [EXIT_LABEL]: String(exitCode) } }
  })
}

/** What was last wanted of an agent. */
export function wantedOf({ Spec }: Service): Wanted {
  const label = Spec.Labels[WANTED_LABEL]
  if (label === 'exited' || label === 'held') return label
  // Somebody may have scaled it by hand.
  return Spec.Mode.Replicated.Replicas > 0 ? 'running' : 'stopped'
}

/** Has somebody ended or started it with Docker's own commands, past the platform? */
export function isScaledByHand({ Spec }: Service): boolean {
  return (Spec.Labels[WANTED_LABEL] === 'running') !== Spec.Mode.Replicated.Replicas > 0
}

/** @throws AppError `not_found`. */
export async function getAgent(deps: SwarmDeps, id: string): Promise<Found> {
  const found = await findAgent(deps, id)
  if (!found) throw agentNotFound()
  return found
}

async function getStopped(deps: SwarmDeps, id: string): Promise<Found> {
  const found = await getAgent(deps, id)
  if (wantedOf(found.service) === 'running') throw agentRunning()
  return found
}

type Order = { spec: AgentSpec; image: AgentImage; digest: string }

async function toOrder(deps: SwarmDeps, current: Service | null, order: Order): Promise<ServiceSpec> {
  const { spec, image } = order
  const driver = deps.drivers[image.kind]
  const { environment, files } = driver.toInputs(spec, image)
  const [secrets, maxCpus] = await Promise.all([keepSecrets(deps, spec.id, files), countCpus(deps)])
  const kept = current ? getVolume(deps, current) : (await listVolumes(deps, spec.id))[0]
  const made = toServiceSpec({
    ...order,
    name: toServiceName(deps.instance, spec.id),
    instance: deps.instance,
    driver,
    environment,
    secrets,
    volume: kept ?? newVolumeName(deps, spec.id),
    maxCpus,
    restartDelayMs: deps.timing.restartDelayMs,
  })
  const node = current?.Spec.Labels[NODE_LABEL]
  return node === undefined ? made : withNode(made, node)
}

async function create(deps: SwarmDeps, order: ServiceSpec, spec: AgentSpec): Promise<void> {
  // Somebody may have removed its service, whose process keeps the port until it has ended.
  await waitUntil(() => isGone(deps, spec.id))
  await makeNetwork(deps, spec.id)
  try {
    await deps.engine.change((docker) => docker.createService(toCreateOptions(order)))
    await waitUntilStarted(deps, spec.id)
  } catch (error) {
    await removeAgent(deps, spec.id)
    throw error
  }
}

/** The types of dockerode know fewer fields than Docker takes. */
function toCreateOptions(order: ServiceSpec) {
  return order as Docker.CreateServiceOptions
}

/** When the new one cannot be started, the old one comes back as it was. */
async function replace(deps: SwarmDeps, current: Service, order: ServiceSpec, spec: AgentSpec): Promise<void> {
  const before = current.Spec
  await changeService(deps, current, (now) => withGeneration(order, now.TaskTemplate.ForceUpdate + 1))
  try {
    await waitUntilStarted(deps, spec.id)
  } catch (error) {
    const back = await changeService(deps, current, (now) => withGeneration(before, now.TaskTemplate.ForceUpdate + 1))
    await dropSecrets(deps, spec.id, secretsOf(back))
    throw error
  }
}

/** Starts it anew, whether it runs or not. When that fails it stays down. */
async function launch(deps: SwarmDeps, id: string, service: Service): Promise<void> {
  // While its last process is ending the swarm keeps the port, and looks for a free one more slowly than we do.
  if (wantedOf(service) !== 'running') await waitUntil(() => isGone(deps, id))
  await changeService(deps, service, (spec) => {
    const { [EXIT_LABEL]: _, ...Labels } = spec.Labels
    return withGeneration(scale({ ...spec, Labels }, 'running', 1), spec.TaskTemplate.ForceUpdate + 1)
  })
  try {
    await waitUntilStarted(deps, id)
  } catch (error) {
    if (error instanceof AppError && error.extra.code === 'ENGINE_UNAVAILABLE') throw error
    await stopAgent(deps, id)
    throw error
  }
}

/**
 * Waits for a process of the agent's last start, which may have ended again, and keeps the agent on the machine that has it.
 * @throws AppError `conflict` {code: 'PORT_TAKEN'}, `internal` when no machine can start it.
 */
async function waitUntilStarted(deps: SwarmDeps, id: string): Promise<void> {
  const deadline = performance.now() + deps.timing.startMs
  const seen = new Map<string, number>()
  for (;;) {
    const found = await getAgent(deps, id)
    const started = await findStarted(deps, found, seen)
    if (started) return pinAgent(deps, found.service, started.NodeID)
    const failure = findFailure(found, seen)
    if (failure) throw failure
    if (performance.now() > deadline) throw cannotStart(generationOf(found).at(-1)?.Status.Err ?? '')
    await Bun.sleep(LOOK_AGAIN_MS)
  }
}

/** A task whose process is, or was, there for certain. `seen` holds when a state was first seen. */
async function findStarted(deps: SwarmDeps, found: Found, seen: Map<string, number>): Promise<Task | null> {
  const ran = generationOf(found).find((task) => findExitCode(task) !== null)
  if (ran) return ran
  const task = findCurrent(found)
  if (!task) return null
  if (task.Status.State === 'running') return task
  const self = await findSelf(deps)
  // Until its machine has told of the process the swarm says of a task only that it is starting.
  if (task.NodeID !== self) return isSteady(seen, task) ? task : null
  const container = await findContainer(deps, task)
  return container?.State.Running ? task : null
}

function findFailure(found: Found, seen: Map<string, number>): AppError | null {
  const port = Number(found.service.Spec.Labels[LABELS.port])
  const tasks = generationOf(found)
  if (tasks.some(({ Status }) => PORT_IN_USE.test(Status.Err))) return portTaken(port)
  // The agent's own last process may have the port for a moment.
  const isAlone = !found.tasks.some((task) => !tasks.includes(task) && mayRun(task))
  if (isAlone && tasks.some((task) => PORT_WANTED.test(task.Status.Err) && isSteady(seen, task, PORT_STEADY_MS)))
    return portTaken(port)
  const failures = tasks.filter((task) => hasEnded(task) && task.Status.Err !== '')
  return failures.length >= MAX_FAILURES ? cannotStart(failures.at(-1)?.Status.Err ?? '') : null
}

function isSteady(seen: Map<string, number>, { ID, Status }: Task, steadyMs = STEADY_MS): boolean {
  const key = `${ID} ${Status.State}`
  const since = seen.get(key) ?? performance.now()
  seen.set(key, since)
  return performance.now() - since >= steadyMs
}

function cannotStart(reason: string): AppError {
  const cause = new Error(reason || 'It took too long')
  return new AppError('internal', 'No machine of the swarm could start the agent', {}, { cause })
}

/** @throws AppError `internal` when it does not end. */
async function waitUntil(isEnded: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + END_MS
  while (!(await isEnded())) {
    if (performance.now() > deadline) throw new AppError('internal', 'The swarm did not end the agent')
    await Bun.sleep(LOOK_AGAIN_MS)
  }
}

/** Does the swarm say so? Machines that do not answer are left out. */
async function isGone(deps: SwarmDeps, id: string): Promise<boolean> {
  const [tasks, nodes] = await Promise.all([listTasks(deps, id), listNodes(deps)])
  return listUnended(tasks, nodes).length === 0
}

/** Has it no process any more? */
async function hasEndedEverywhere(deps: SwarmDeps, id: string): Promise<boolean> {
  const [found, nodes, self] = await Promise.all([findAgent(deps, id), listNodes(deps), findSelf(deps)])
  const unended = listUnended(found?.tasks ?? [], nodes)
  const ended = await Promise.all(unended.map((task) => task.NodeID === self && hasEndedHere(deps, task)))
  return !ended.includes(false)
}

/** Some seconds before the swarm says so, which first tells all other machines of it. */
async function hasEndedHere(deps: SwarmDeps, task: Task): Promise<boolean> {
  if (!wasStarted(task)) return false
  const state = (await findContainer(deps, task))?.State
  return state === undefined || (!state.Running && !state.StartedAt.startsWith('0001-'))
}

/** The swarm would wait for some seconds before it ends what runs here. */
async function endHere(
  deps: SwarmDeps,
  { tasks }: Found,
  end: (container: Docker.Container) => Promise<unknown>,
): Promise<void> {
  const self = await findSelf(deps)
  const here = tasks.filter((task) => task.NodeID === self && wasStarted(task))
  for (const id of here.flatMap((task) => task.Status.ContainerStatus?.ContainerID || [])) {
    try {
      await deps.engine.change((docker) => end(docker.getContainer(id)))
    } catch (error) {
      // It has ended, or is gone.
      if (!hasStatus(error, 304, 404, 409)) throw error
    }
  }
}

function findSelf(deps: SwarmDeps): Promise<string> {
  return look(deps, async (_docker, { nodeId }) => nodeId)
}

async function repairWherePossible(deps: SwarmDeps, service: Service): Promise<void> {
  try {
    await markForRepair(deps, service)
  } catch (error) {
    if (!(error instanceof AppError) || error.extra.code !== 'ON_ANOTHER_NODE') throw error
  }
}

async function makeNetwork(deps: SwarmDeps, id: string): Promise<void> {
  const name = toServiceName(deps.instance, id)
  const labels = { [LABELS.instance]: deps.instance, [LABELS.agent]: id }
  try {
    await deps.engine.change((docker, abortSignal) =>
      docker.createNetwork({ Name: name, Driver: 'overlay', CheckDuplicate: true, Labels: labels, abortSignal }),
    )
  } catch (error) {
    // Of a deployment that a crash cut short.
    if (!hasStatus(error, 409)) throw error
  }
}

async function removeNetwork(deps: SwarmDeps, id: string): Promise<void> {
  const network = toServiceName(deps.instance, id)
  await untilReleased('network', () =>
    deps.engine.change((docker, abortSignal) => orNull(docker.getNetwork(network).remove({ abortSignal }))),
  )
}

async function removeVolumes(deps: SwarmDeps, id: string, kept: string | null): Promise<void> {
  const names = (await listVolumes(deps, id)).filter((name) => name !== kept)
  await endFilesContainers(deps, id)
  await Promise.all(names.map((name) => untilReleased('volume', () => removeVolume(deps, name))))
}

/** A task that has ended holds what it had for some seconds more. */
async function untilReleased(what: string, remove: () => Promise<unknown>): Promise<void> {
  for (const deadline = performance.now() + END_MS; ; await Bun.sleep(LOOK_AGAIN_MS)) {
    try {
      await remove()
      return
    } catch (error) {
      if (error instanceof AppError) throw error
      if (!hasStatus(error, 400, 403, 409) || performance.now() > deadline) {
        throw new AppError('internal', `The agent's ${what} cannot be deleted`, {}, { cause: error })
      }
    }
  }
}

async function countCpus(deps: SwarmDeps): Promise<number> {
  const usable = [...(await listNodes(deps)).values()].filter(isUsable)
  return Math.min(...usable.map(({ Description }) => Description.Resources.NanoCPUs / 1_000_000_000))
}

function scale(spec: ServiceSpec, wanted: Wanted, replicas: number): ServiceSpec {
  return {
    ...spec,
    Labels: { ...spec.Labels, [WANTED_LABEL]: wanted },
    Mode: { Replicated: { Replicas: replicas } },
  }
}

function withGeneration(spec: ServiceSpec, generation: number): ServiceSpec {
  return { ...spec, TaskTemplate: { ...spec.TaskTemplate, ForceUpdate: generation } }
}

function withNode(spec: ServiceSpec, nodeId: string | null): ServiceSpec {
  const { [NODE_LABEL]: before, ...Labels } = spec.Labels
  const others = (spec.TaskTemplate.Placement.Constraints ?? []).filter((one) => one !== `node.id==${before}`)
  const Constraints = nodeId === null ? others : [...others, `node.id==${nodeId}`]
  return {
    ...spec,
    Labels: nodeId === null ? Labels : { ...Labels, [NODE_LABEL]: nodeId },
    TaskTemplate: { ...spec.TaskTemplate, Placement: { ...spec.TaskTemplate.Placement, Constraints } },
  }
}

function withVolume(spec: ServiceSpec, from: string, to: string): ServiceSpec {
  const { ContainerSpec } = spec.TaskTemplate
  const Mounts = ContainerSpec.Mounts.map((mount) => (mount.Source === from ? { ...mount, Source: to } : mount))
  return { ...spec, TaskTemplate: { ...spec.TaskTemplate, ContainerSpec: { ...ContainerSpec, Mounts } } }
}

function secretsOf({ TaskTemplate }: ServiceSpec): Set<string> {
  return new Set(TaskTemplate.ContainerSpec.Secrets.map(({ SecretID }) => SecretID))
}

function newVolumeName(deps: SwarmDeps, id: string): string {
  return `${toServiceName(deps.instance, id)}-${randomText(8).toLowerCase()}`
}
