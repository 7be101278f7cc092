import type Docker from 'dockerode'
import { AppError } from '../../../core/errors.ts'
import type { AgentImage } from '../contract/agent-image.ts'
import { type AgentSpec, agentRunning, imageNotFound } from '../contract/runtime.ts'
import { STOP_SECONDS, toDigest } from '../engine/container.ts'
import { LABELS, orNull } from '../engine/engine.ts'
import { findImage } from '../engine/images.ts'
import { isUsable, type ServiceSpec, type SwarmService } from './answers.ts'
import {
  type AgentService,
  changeService,
  findAgentService,
  findOwnNode,
  getAgentService,
  listNodes,
  type SwarmRuntimeParts,
  toServiceName,
} from './cluster.ts'
import {
  eraseElsewhere,
  getVolume,
  listAgentVolumes,
  markForRepair,
  readVolume,
  removeVolumes,
  writeVolume,
} from './files.ts'
import { moveIfAway, newVolumeName, placeNewService } from './moving.ts'
import { dropSecrets, keepSecrets, makeNetwork, removeNetwork } from './resources.ts'
import { makeSharedFolder } from './shared-volume.ts'
import {
  driverOfService,
  EXIT_LABEL,
  NODE_LABEL,
  scale,
  secretsOf,
  toServiceSpec,
  type WantedService,
  wantedOf,
  withGeneration,
  withNode,
  withVolume,
} from './spec.ts'
import { endHere, hasEndedEverywhere, isGone, waitUntil, waitUntilStarted } from './waiting.ts'

/** @throws AppError as `Runtime.deploy`, `not_found` {code: 'IMAGE_NOT_FOUND'}. */
export async function deployInSwarm(deps: SwarmRuntimeParts, spec: AgentSpec): Promise<void> {
  const { image: reference } = spec
  if (reference === null) throw new AppError('invalid', 'Agent spec: image is required')
  const digest = toDigest(deps.digestKey, spec)
  const found = await findAgentService(deps, spec.id)
  const isSame = found?.service.Spec.Labels[LABELS.digest] === digest
  if (found && isSame && wantedOf(found.service) === 'running') return
  const image = await findImage(deps.engine, reference)
  if (image === null) throw imageNotFound(reference)
  const current = found && (await moveIfAway(deps, found.service))
  const order = await toOrder(deps, current, { spec, image, digest })
  await (current ? replace(deps, current, order, spec) : create(deps, order, { spec, image, digest }))
  await dropSecrets(deps, spec.id, secretsOf(order))
}

/** @throws AppError as `Runtime.start`. */
export async function startInSwarm(deps: SwarmRuntimeParts, id: string, options: { repair: boolean }): Promise<void> {
  const { service } = await getAgentService(deps, id)
  if (wantedOf(service) === 'running') return
  if (options.repair) await repairWherePossible(deps, service)
  await launch(deps, id, service)
}

/** Stops the agent, by force after 30 s. @throws AppError `not_found`. */
export async function stopInSwarm(
  deps: SwarmRuntimeParts,
  id: string,
  wanted: WantedService = 'stopped',
): Promise<void> {
  const found = await getAgentService(deps, id)
  // Scale down first, so that the ended task is not restarted.
  await changeService(deps, found.service, (spec) => scale(spec, wanted, 0))
  await endHere(deps, found, (container) => container.stop({ t: STOP_SECONDS }))
  await waitUntil(deps, id, () => hasEndedEverywhere(deps, id))
}

/**
 * Stops the agent by force at once on the engine's own node, elsewhere like `stopInSwarm`. @throws AppError
 * `not_found`.
 */
export async function killInSwarm(deps: SwarmRuntimeParts, id: string): Promise<void> {
  const found = await getAgentService(deps, id)
  await changeService(deps, found.service, (spec) => scale(spec, 'stopped', 0))
  await endHere(deps, found, (container) => container.kill())
  await waitUntil(deps, id, () => hasEndedEverywhere(deps, id))
}

/** @throws AppError as `Runtime.restart`. */
export async function restartInSwarm(deps: SwarmRuntimeParts, id: string): Promise<void> {
  const { service } = await getAgentService(deps, id)
  await launch(deps, id, service)
}

/** A volume of a removed agent on another node, which only that node's engine can remove. */
type LeftVolume = { node: string; volume: string; isEmpty: boolean }

/** Removes the agent with its data. A volume on another node is emptied, because it cannot be removed from here. */
export async function removeFromSwarm(deps: SwarmRuntimeParts, id: string): Promise<LeftVolume | null> {
  const found = await findAgentService(deps, id)
  if (found) {
    await stopInSwarm(deps, id)
    await deps.engine.change((docker, abortSignal) =>
      orNull(docker.getService(found.service.ID).remove({ abortSignal })),
    )
  }
  await removeNetwork(deps, id)
  await dropSecrets(deps, id, new Set())
  const node = found?.service.Spec.Labels[NODE_LABEL]
  // On a file server, files outlive the volume.
  if (found && deps.volumeDriver) await eraseElsewhere(deps, id, found.service, node ?? (await findOwnNode(deps)))
  await removeVolumes(deps, id, null)
  if (!found || node === undefined || node === (await findOwnNode(deps))) return null
  const isEmpty = await eraseElsewhere(deps, id, found.service, node)
  return { node, volume: getVolume(deps, found.service), isEmpty }
}

/** @throws AppError as `Runtime.snapshot`, `unavailable` when its files are on another node. */
export async function snapshotInSwarm(deps: SwarmRuntimeParts, id: string, file: string): Promise<void> {
  await readVolume(deps, (await getStopped(deps, id)).service, file)
}

/** Writes the state of an agent to `file`, whether it runs or not. @throws AppError as `snapshotInSwarm`. */
export async function copyStateInSwarm(deps: SwarmRuntimeParts, id: string, file: string): Promise<void> {
  await readVolume(deps, (await getAgentService(deps, id)).service, file)
}

/** @throws AppError as `Runtime.restore`, `unavailable` when its files are on another node. */
export async function restoreInSwarm(deps: SwarmRuntimeParts, id: string, file: string): Promise<void> {
  const { service } = await getStopped(deps, id)
  const old = getVolume(deps, service)
  const volume = newVolumeName(deps, id)
  await makeSharedFolder(deps, { agentId: id, volume, driver: driverOfService(deps, service) })
  await writeVolume(deps, service, volume, file)
  await changeService(deps, service, (spec) => withVolume(spec, old, volume))
  await removeVolumes(deps, id, volume)
  const node = service.Spec.Labels[NODE_LABEL]
  if (node === undefined) return
  if (deps.volumeDriver || node !== (await findOwnNode(deps))) await eraseElsewhere(deps, id, service, node)
}

/** Leaves an agent down that ended with `exitCode` and that a restart cannot help. */
export async function giveUpInSwarm(deps: SwarmRuntimeParts, service: SwarmService, exitCode: number): Promise<void> {
  await changeService(deps, service, (spec) => {
    const down = scale(spec, 'exited', 0)
    return { ...down, Labels: { ...down.Labels, [EXIT_LABEL]: String(exitCode) } }
  })
}

async function getStopped(deps: SwarmRuntimeParts, id: string): Promise<AgentService> {
  const found = await getAgentService(deps, id)
  if (wantedOf(found.service) === 'running') throw agentRunning()
  return found
}

type Order = { spec: AgentSpec; image: AgentImage; digest: string }

async function toOrder(deps: SwarmRuntimeParts, current: SwarmService | null, order: Order): Promise<ServiceSpec> {
  const { spec, image } = order
  const driver = deps.drivers[image.kind]
  const { environment, files } = driver.toInputs(spec, image)
  const [secrets, maxCpus] = await Promise.all([keepSecrets(deps, spec.id, files), countCpus(deps)])
  const kept = current ? getVolume(deps, current) : (await listAgentVolumes(deps, spec.id))[0]
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
    volumeDriver: deps.volumeDriver,
  })
  const node = current?.Spec.Labels[NODE_LABEL]
  return node === undefined ? made : withNode(made, node)
}

async function create(deps: SwarmRuntimeParts, order: ServiceSpec, { spec, image }: Order): Promise<void> {
  const driver = deps.drivers[image.kind]
  // A removed service's process keeps the port until it has ended.
  await waitUntil(deps, spec.id, () => isGone(deps, spec.id))
  await makeNetwork(deps, spec.id)
  const isNew = (await listAgentVolumes(deps, spec.id)).length === 0
  try {
    const volume = getVolume(deps, { ID: '', Version: { Index: 0 }, Spec: order })
    if (isNew) await makeSharedFolder(deps, { agentId: spec.id, volume, driver })
    const placed = isNew ? await placeNewService(deps, order) : order
    await deps.engine.change((docker) => docker.createService(toCreateOptions(placed)))
    await waitUntilStarted(deps, spec.id)
  } catch (error) {
    await removeFromSwarm(deps, spec.id)
    throw error
  }
}

/** dockerode's types lack fields that Docker accepts. */
function toCreateOptions(order: ServiceSpec) {
  return order as Docker.CreateServiceOptions
}

/** Replaces the service; when the new one cannot start, restores the old one. */
async function replace(
  deps: SwarmRuntimeParts,
  current: SwarmService,
  order: ServiceSpec,
  spec: AgentSpec,
): Promise<void> {
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

/** Restarts the agent, running or not. If that fails, the agent stays stopped. */
async function launch(deps: SwarmRuntimeParts, id: string, found: SwarmService): Promise<void> {
  const service = await moveIfAway(deps, found)
  // The swarm reserves the port until the last process has ended, and retries more slowly than this loop.
  if (wantedOf(service) !== 'running') await waitUntil(deps, id, () => isGone(deps, id))
  await changeService(deps, service, (spec) => {
    const { [EXIT_LABEL]: _, ...Labels } = spec.Labels
    return withGeneration(scale({ ...spec, Labels }, 'running', 1), spec.TaskTemplate.ForceUpdate + 1)
  })
  try {
    await waitUntilStarted(deps, id)
  } catch (error) {
    if (error instanceof AppError && error.extra.code === 'ENGINE_UNAVAILABLE') throw error
    await stopInSwarm(deps, id)
    throw error
  }
}

async function repairWherePossible(deps: SwarmRuntimeParts, service: SwarmService): Promise<void> {
  try {
    await markForRepair(deps, service)
  } catch (error) {
    if (!(error instanceof AppError) || error.extra.code !== 'ON_ANOTHER_NODE') throw error
  }
}

async function countCpus(deps: SwarmRuntimeParts): Promise<number> {
  const usable = [...(await listNodes(deps)).values()].filter(isUsable)
  return Math.min(...usable.map(({ Description }) => Description.Resources.NanoCPUs / 1_000_000_000))
}
