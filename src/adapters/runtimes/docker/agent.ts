import { AppError } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import type { AgentDriver, AgentImage } from '../contract/agent-image.ts'
import { type AgentKind, type AgentSpec, agentNotFound, agentRunning, imageNotFound } from '../contract/runtime.ts'
import {
  copySecrets,
  putSecrets,
  readState,
  requestRepair,
  STOP_SECONDS,
  toContainer,
  toDigest,
  toNames,
  WANTED,
  writeState,
} from '../engine/container.ts'
import { LABELS } from '../engine/engine.ts'
import { endFilesContainers } from '../engine/files.ts'
import { findImage } from '../engine/images.ts'
import type { DockerNetwork } from './network.ts'
import {
  type Container,
  create,
  end,
  type FindDeps,
  findByName,
  halt,
  isRunning,
  launch,
  listVolumes,
  removeContainer,
  removeVolume,
  rename,
  type StepDeps,
  setRestartPolicy,
  toTwin,
  volumeAt,
  wasStarted,
} from './steps.ts'

export type DockerAgentDeps = StepDeps & {
  digestKey: string
  drivers: Readonly<Record<AgentKind, AgentDriver>>
  network: DockerNetwork
  /** Returns the number of cores of the engine's machine. */
  countCpus: () => Promise<number>
}

type Wanted = { spec: AgentSpec; image: AgentImage; digest: string }

/**
 * Returns the agent's container, or null. During a replacement it is the container that ran last, never a successor
 * that has not started.
 */
export async function findContainer(deps: FindDeps, id: string): Promise<Container | null> {
  const { current, previous } = await findPlaces(deps, id)
  return current && (wasStarted(current) || !previous) ? current : previous
}

/**
 * Deploys `spec`. A successor is created next to an outdated container, which is stopped before the successor starts
 * and started again when that fails. The next call completes one that a crash interrupted.
 * @throws AppError as `Runtime.deploy`, `not_found` {code: 'IMAGE_NOT_FOUND'}.
 */
export async function deployInDocker(deps: DockerAgentDeps, spec: AgentSpec): Promise<void> {
  const { image: reference } = spec
  if (reference === null) throw new AppError('invalid', 'Agent spec: image is required')
  const digest = toDigest(deps.digestKey, spec)
  const current = await settle(deps, spec.id)
  const isSame = current?.Config.Labels[LABELS.digest] === digest
  if (current && isSame && isRunning(current)) return setRestartPolicy(deps, current, WANTED)
  const image = await findImage(deps.engine, reference)
  // The reference may name another image by now, which a stopped agent gets.
  if (current && isSame && (image === null || image.id === current.Image)) return launchWithSecrets(deps, current, spec)
  if (image === null) throw imageNotFound(reference)
  await replace(deps, current, { spec, image, digest })
}

/** @throws AppError as `Runtime.start`. */
export async function startInDocker(deps: DockerAgentDeps, id: string, options: { repair: boolean }): Promise<void> {
  const container = await getContainer(deps, id)
  if (isRunning(container)) return
  if (options.repair) await requestRepair(deps.engine, container.Id, driverOf(deps, container))
  await launch(deps, container)
}

/** Stops the agent, by force after `graceSeconds`. @throws AppError `not_found`. */
export async function stopInDocker(deps: StepDeps, id: string, graceSeconds: number): Promise<void> {
  await end(deps, await getContainer(deps, id), graceSeconds)
}

/** Stops the agent but keeps it wanted, so that the next deployment starts it. Does nothing without a container. */
export async function haltInDocker(deps: StepDeps, id: string, graceSeconds: number): Promise<void> {
  const container = await findContainer(deps, id)
  if (container && isRunning(container)) await halt(deps, container, graceSeconds)
}

/** @throws AppError as `Runtime.restart`. */
export async function restartInDocker(deps: StepDeps, id: string): Promise<void> {
  await stopInDocker(deps, id, STOP_SECONDS)
  await launch(deps, await getContainer(deps, id))
}

/** Removes the agent with its data, and the network after the last agent. */
export async function removeFromDocker(deps: DockerAgentDeps, id: string): Promise<void> {
  const { current, previous, next } = await findPlaces(deps, id)
  for (const container of [next, previous, current]) if (container) await removeContainer(deps, container.Id)
  await deps.network.removeUnused()
  await removeVolumes(deps, id, null)
}

/** @throws AppError as `Runtime.snapshot`. */
export async function snapshotInDocker(deps: DockerAgentDeps, id: string, file: string): Promise<void> {
  const container = await getStopped(deps, id)
  await readState(deps.engine, container.Id, driverOf(deps, container).stateDir, file)
}

/**
 * Restores into an empty volume of a twin container, which then replaces the old one.
 * @throws AppError as `Runtime.restore`.
 */
export async function restoreInDocker(deps: DockerAgentDeps, id: string, file: string): Promise<void> {
  const container = await getStopped(deps, id)
  const { stateDir } = driverOf(deps, container)
  const volume = newVolumeName(deps, id)
  const next = await create(deps, toTwin(container, id, stateDir, volume, deps.instance))
  try {
    await copySecrets(deps.engine, container.Id, next)
    await writeState(deps.engine, next, stateDir, file)
  } catch (error) {
    await removeContainer(deps, next)
    await removeVolume(deps, volume)
    throw error
  }
  await takePlace(deps, id, container, next)
  await removeContainer(deps, container.Id)
  await removeVolumes(deps, id, await getContainer(deps, id))
}

/** Returns the program that it runs, according to its label. */
export function agentKindOf(container: Container): AgentKind {
  return container.Config.Labels[LABELS.kind] === 'openclaw' ? 'openclaw' : 'stead'
}

export function driverOf(deps: Pick<DockerAgentDeps, 'drivers'>, container: Container): AgentDriver {
  return deps.drivers[agentKindOf(container)]
}

async function replace(deps: DockerAgentDeps, current: Container | null, wanted: Wanted): Promise<void> {
  const { spec } = wanted
  const next = await deps.network.withOpen(() => createNext(deps, current, wanted))
  const container = await startInPlace(deps, current, next, spec).catch(async (error: unknown) => {
    await removeContainer(deps, next)
    if (current && isRunning(current)) await launch(deps, await getContainer(deps, spec.id))
    throw error
  })
  if (current) await removeContainer(deps, current.Id)
  await removeVolumes(deps, spec.id, container)
}

async function startInPlace(
  deps: DockerAgentDeps,
  current: Container | null,
  next: string,
  spec: AgentSpec,
): Promise<Container> {
  if (current) await end(deps, current, STOP_SECONDS)
  await takePlace(deps, spec.id, current, next)
  const container = await getByName(deps, spec.id, toNames(deps.instance, spec.id).current)
  await launchWithSecrets(deps, container, spec)
  return container
}

async function createNext(deps: DockerAgentDeps, current: Container | null, { spec, image, digest }: Wanted) {
  const driver = deps.drivers[image.kind]
  const kept = current ? volumeAt(current, driver.stateDir) : await findState(deps, spec.id)
  const volume = kept ?? newVolumeName(deps, spec.id)
  const maxCpus = await deps.countCpus()
  const order = toContainer({
    name: toNames(deps.instance, spec.id).next,
    instance: deps.instance,
    inputs: driver.toInputs(spec, image),
    network: deps.network.name,
    spec,
    image,
    driver,
    digest,
    volume,
    maxCpus,
  })
  return create(deps, order)
}

/** Writes the secrets again, because a crash may have prevented that after the container was created. */
async function launchWithSecrets(deps: DockerAgentDeps, container: Container, spec: AgentSpec): Promise<void> {
  const driver = driverOf(deps, container)
  const { Labels } = container.Config
  const image: AgentImage = {
    reference: Labels[LABELS.image] ?? '',
    id: container.Image,
    kind: driver.kind,
    version: Labels[LABELS.version] || null,
  }
  await putSecrets(deps.engine, container.Id, driver, driver.toInputs(spec, image).files)
  await launch(deps, container)
}

/** Renames both containers while they are stopped: the engine cannot rename a container that is stopping. */
async function takePlace(deps: StepDeps, id: string, current: Container | null, next: string): Promise<void> {
  const names = toNames(deps.instance, id)
  if (current) await rename(deps, current.Id, names.previous)
  await rename(deps, next, names.current)
}

/** Completes an interrupted replacement. @returns the agent's single container, or null. */
async function settle(deps: StepDeps, id: string): Promise<Container | null> {
  const { current, previous, next } = await findPlaces(deps, id)
  if (next) await removeContainer(deps, next.Id)
  if (!previous) return current
  if (current && wasStarted(current)) {
    await removeContainer(deps, previous.Id)
    return current
  }
  if (current) await removeContainer(deps, current.Id)
  await rename(deps, previous.Id, toNames(deps.instance, id).current)
  return previous
}

/** Finds all containers of an agent, also one that is renamed during the search. */
async function findPlaces(deps: FindDeps, id: string) {
  const names = toNames(deps.instance, id)
  const first = await findByName(deps, id, names.current)
  const previous = await findByName(deps, id, names.previous)
  const isSettled = previous !== null || (first !== null && wasStarted(first))
  const current = isSettled ? first : await findByName(deps, id, names.current)
  return { current, previous, next: await findByName(deps, id, names.next) }
}

async function getContainer(deps: StepDeps, id: string): Promise<Container> {
  const container = await settle(deps, id)
  if (!container) throw agentNotFound()
  return container
}

async function getByName(deps: StepDeps, id: string, name: string): Promise<Container> {
  const container = await findByName(deps, id, name)
  if (!container) throw agentNotFound()
  return container
}

async function getStopped(deps: StepDeps, id: string): Promise<Container> {
  const container = await getContainer(deps, id)
  if (container.State.Running) throw agentRunning()
  return container
}

/** Finds the state volume of an agent whose container was removed by other means. */
async function findState(deps: StepDeps, id: string): Promise<string | undefined> {
  return (await listVolumes(deps, id)).find(({ holdsSecrets }) => !holdsSecrets)?.name
}

/** Removes the agent's volumes except those of `container`. */
async function removeVolumes(deps: StepDeps, id: string, container: Container | null): Promise<void> {
  const kept = new Set(container?.Mounts.map(({ Name }) => Name))
  await endFilesContainers(deps, id)
  for (const { name } of await listVolumes(deps, id)) if (!kept.has(name)) await removeVolume(deps, name)
}

function newVolumeName({ instance }: StepDeps, id: string): string {
  return `stead-${instance}-${id}-${randomText(8).toLowerCase()}`
}
