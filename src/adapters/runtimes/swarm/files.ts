import { AppError } from '../../../core/errors.ts'
import { readState, requestRepair, writeState } from '../engine/container.ts'
import { LABELS, orNull } from '../engine/engine.ts'
import { endFilesContainers, findFilesImage } from '../engine/files.ts'
import type { SwarmService } from './answers.ts'
import { findOwnNode, listNodes, type SwarmRuntimeParts, toServiceName } from './cluster.ts'
import { runOnce, toOneTaskService } from './one-task.ts'
import { fetchVolume, sendVolume } from './remote-volume.ts'
import { driverOfService, NODE_LABEL, toVolumeOptions } from './spec.ts'
import { untilReleased } from './waiting.ts'

/** Writes the state of an agent to `file`. @throws AppError `unavailable` when its node is away. */
export async function readVolume(deps: SwarmRuntimeParts, service: SwarmService, file: string): Promise<void> {
  const { stateDir } = driverOfService(deps, service)
  const name = getVolume(deps, service)
  const nodeId = await findNodeElsewhere(deps, service)
  if (nodeId !== null) return fetchVolume(deps, { service, name, nodeId }, file)
  await withFiles(deps, service, name, (id) => readState(deps.engine, id, stateDir, file))
}

/** Creates a volume from `file` on the node of the agent. @throws AppError `unavailable` as `readVolume`. */
export async function writeVolume(
  deps: SwarmRuntimeParts,
  service: SwarmService,
  name: string,
  file: string,
): Promise<void> {
  const { stateDir } = driverOfService(deps, service)
  const nodeId = await findNodeElsewhere(deps, service)
  if (nodeId !== null) return sendVolume(deps, { service, name, nodeId }, file)
  try {
    await withFiles(deps, service, name, (id) => writeState(deps.engine, id, stateDir, file))
  } catch (error) {
    await removeVolume(deps, name)
    throw error
  }
}

/** Makes the agent repair its state at its next start. @throws AppError `unavailable` as `readVolume`. */
export async function markForRepair(deps: SwarmRuntimeParts, service: SwarmService): Promise<void> {
  const driver = driverOfService(deps, service)
  if (driver.repairFile === null) return
  await requireHere(deps, service)
  await withFiles(deps, service, getVolume(deps, service), (id) => requestRepair(deps.engine, id, driver))
}

/** Returns the volume with the agent's state, on the node that runs it. */
export function getVolume(deps: Pick<SwarmRuntimeParts, 'drivers'>, service: SwarmService): string {
  const { stateDir } = driverOfService(deps, service)
  const mount = service.Spec.TaskTemplate.ContainerSpec.Mounts.find(({ Target }) => Target === stateDir)
  if (!mount?.Source) throw new AppError('internal', 'The agent has no volume')
  return mount.Source
}

/** Lists this node's volumes of the agent. */
export async function listAgentVolumes(deps: SwarmRuntimeParts, agentId: string): Promise<string[]> {
  const label = [`${LABELS.instance}=${deps.instance}`, `${LABELS.agent}=${agentId}`]
  const found = await deps.engine.ask((docker, abortSignal) => docker.listVolumes({ filters: { label }, abortSignal }))
  return found.Volumes.map(({ Name }) => Name)
}

/** Removes a volume of this node. */
async function removeVolume(deps: SwarmRuntimeParts, name: string): Promise<void> {
  await deps.engine.change((docker, abortSignal) => orNull(docker.getVolume(name).remove({ abortSignal })))
}

/** Runs `work` with a container that has the volume and is never started. */
async function withFiles<T>(
  deps: SwarmRuntimeParts,
  service: SwarmService,
  volume: string,
  work: (containerId: string) => Promise<T>,
): Promise<T> {
  const agentId = service.Spec.Labels[LABELS.agent] ?? ''
  const name = `${toServiceName(deps.instance, agentId)}.files`
  await removeContainer(deps, name)
  const { id } = await deps.engine.change((docker, abortSignal) =>
    docker.createContainer({
      name,
      Image: service.Spec.TaskTemplate.ContainerSpec.Image,
      Labels: { [LABELS.instance]: deps.instance, [LABELS.files]: agentId },
      HostConfig: { NetworkMode: 'none', Mounts: [toMount(deps, service, volume, agentId)] },
      abortSignal,
    }),
  )
  try {
    return await work(id)
  } finally {
    await removeContainer(deps, id)
  }
}

function toMount(deps: SwarmRuntimeParts, service: SwarmService, volume: string, agentId: string) {
  const VolumeOptions = toVolumeOptions(deps, { agentId, volume })
  return { Type: 'volume' as const, Source: volume, Target: driverOfService(deps, service).stateDir, VolumeOptions }
}

async function removeContainer(deps: SwarmRuntimeParts, nameOrId: string): Promise<void> {
  await deps.engine.change((docker, abortSignal) =>
    orNull(docker.getContainer(nameOrId).remove({ force: true, v: true, abortSignal })),
  )
}

/** Checks that the files are on this node. @throws AppError `unavailable` {code: 'ON_ANOTHER_NODE'}. */
export async function requireHere(deps: SwarmRuntimeParts, service: SwarmService): Promise<void> {
  if ((await findNodeElsewhere(deps, service)) === null) return
  throw new AppError('unavailable', 'What the agent has stored is on another machine of the swarm', {
    code: 'ON_ANOTHER_NODE',
  })
}

/** Returns the id of the other node that has the files; null when they are on this one. */
async function findNodeElsewhere(deps: SwarmRuntimeParts, service: SwarmService): Promise<string | null> {
  const node = service.Spec.Labels[NODE_LABEL]
  return node === undefined || node === (await findOwnNode(deps)) ? null : node
}

/** Removes the agent's volumes on this node except `kept`. @throws AppError `internal` when a volume stays in use. */
export async function removeVolumes(deps: SwarmRuntimeParts, id: string, kept: string | null): Promise<void> {
  const names = (await listAgentVolumes(deps, id)).filter((name) => name !== kept)
  await endFilesContainers(deps, id)
  await Promise.all(names.map((name) => untilReleased('volume', () => removeVolume(deps, name))))
}

const ERASED_AT = '/data'

/**
 * Empties a volume on another node, whose engine cannot be reached from here, with a one-task service as the agent's
 * own user. The empty volume stays.
 * @returns false when the node is away, lacks the image, or does not finish in time.
 */
export async function eraseElsewhere(
  deps: SwarmRuntimeParts,
  agentId: string,
  service: SwarmService,
  nodeId: string,
): Promise<boolean> {
  const image = await findFilesImage(deps)
  const node = (await listNodes(deps)).get(nodeId)
  if (image === null || node?.Status.State !== 'ready') return false
  const driver = driverOfService(deps, service)
  const volume = getVolume(deps, service)
  const order = toOneTaskService(deps, {
    purpose: 'erase',
    agentId,
    image,
    command: ['--erase', ERASED_AT],
    user: driver.user,
    mounts: [
      {
        ...{ Type: 'volume', Source: volume, Target: ERASED_AT },
        VolumeOptions: { ...toVolumeOptions(deps, { agentId, volume }), NoCopy: true },
      },
    ],
    constraints: [`node.id==${nodeId}`],
  })
  return (await runOnce(deps, order)) === null
}
