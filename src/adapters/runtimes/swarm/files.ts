import { AppError } from '../../../core/errors.ts'
import type { AgentDriver } from '../contract/agent-image.ts'
import { readState, requestRepair, writeState } from '../engine/archive.ts'
import { LABELS, orNull } from '../engine/engine.ts'
import { endFilesContainers } from '../engine/files.ts'
import type { Service } from './answers.ts'
import { findOwnNode, type SwarmDeps, toServiceName } from './cluster.ts'
import { untilReleased } from './ending.ts'
import { NODE_LABEL } from './spec.ts'

/** Writes what a stopped agent has stored to `file`. @throws AppError `unavailable` when that is on another machine. */
export async function readVolume(deps: SwarmDeps, service: Service, file: string): Promise<void> {
  const { stateDir } = driverOf(deps, service)
  await withFiles(deps, service, getVolume(deps, service), (id) => readState(deps.engine, id, stateDir, file))
}

/** Makes a new volume of what is in `file`. @returns its name. @throws AppError `unavailable` as `readVolume`. */
export async function writeVolume(deps: SwarmDeps, service: Service, volume: string, file: string): Promise<void> {
  const { stateDir } = driverOf(deps, service)
  try {
    await withFiles(deps, service, volume, (id) => writeState(deps.engine, id, stateDir, file))
  } catch (error) {
    await removeVolume(deps, volume)
    throw error
  }
}

/** Makes the agent's program mend its state at its next start. @throws AppError `unavailable` as `readVolume`. */
export async function markForRepair(deps: SwarmDeps, service: Service): Promise<void> {
  const driver = driverOf(deps, service)
  if (driver.repairFile === null) return
  await withFiles(deps, service, getVolume(deps, service), (id) => requestRepair(deps.engine, id, driver))
}

/** The volume with all that an agent has stored, on the machine that runs it. */
export function getVolume(deps: Pick<SwarmDeps, 'drivers'>, service: Service): string {
  const { stateDir } = driverOf(deps, service)
  const mount = service.Spec.TaskTemplate.ContainerSpec.Mounts.find(({ Target }) => Target === stateDir)
  if (!mount?.Source) throw new AppError('internal', 'The agent has no volume')
  return mount.Source
}

/** Names of this machine's volumes with the agent's labels. */
export async function listVolumes(deps: SwarmDeps, agentId: string): Promise<string[]> {
  const label = [`${LABELS.instance}=${deps.instance}`, `${LABELS.agent}=${agentId}`]
  const found = await deps.engine.ask((docker, abortSignal) => docker.listVolumes({ filters: { label }, abortSignal }))
  return found.Volumes.map(({ Name }) => Name)
}

/** Deletes a volume of this machine. */
export async function removeVolume(deps: SwarmDeps, name: string): Promise<void> {
  await deps.engine.change((docker, abortSignal) => orNull(docker.getVolume(name).remove({ abortSignal })))
}

/** Which program it runs, as its image said when it was made. */
export function driverOf({ drivers }: Pick<SwarmDeps, 'drivers'>, service: Service): AgentDriver {
  return drivers[service.Spec.Labels[LABELS.kind] === 'openclaw' ? 'openclaw' : 'stead']
}

/** Hands `work` a container that has the volume and is never started. */
async function withFiles<T>(
  deps: SwarmDeps,
  service: Service,
  volume: string,
  work: (containerId: string) => Promise<T>,
): Promise<T> {
  await requireHere(deps, service)
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

function toMount(deps: SwarmDeps, service: Service, volume: string, agentId: string) {
  const Labels = { [LABELS.instance]: deps.instance, [LABELS.agent]: agentId }
  const VolumeOptions = { NoCopy: false, Labels, DriverConfig: { Name: 'local', Options: {} } }
  return { Type: 'volume' as const, Source: volume, Target: driverOf(deps, service).stateDir, VolumeOptions }
}

async function removeContainer(deps: SwarmDeps, nameOrId: string): Promise<void> {
  await deps.engine.change((docker, abortSignal) =>
    orNull(docker.getContainer(nameOrId).remove({ force: true, v: true, abortSignal })),
  )
}

/** An engine hands out files of its own machine only. @throws AppError `unavailable` {code: 'ON_ANOTHER_NODE'}. */
export async function requireHere(deps: SwarmDeps, service: Service): Promise<void> {
  const node = service.Spec.Labels[NODE_LABEL]
  const self = await findOwnNode(deps)
  if (node === undefined || node === self) return
  throw new AppError('unavailable', 'What the agent has stored is on another machine of the swarm', {
    code: 'ON_ANOTHER_NODE',
  })
}

/** Deletes all volumes of an agent on this machine but `kept`. @throws AppError `internal` when one is not let go. */
export async function removeVolumes(deps: SwarmDeps, id: string, kept: string | null): Promise<void> {
  const names = (await listVolumes(deps, id)).filter((name) => name !== kept)
  await endFilesContainers(deps, id)
  await Promise.all(names.map((name) => untilReleased('volume', () => removeVolume(deps, name))))
}
