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
  /** How many cores the engine's machine has. */
  countCpus: () => Promise<number>
}

type Wanted = { spec: AgentSpec; image: AgentImage; digest: string }

/**
 * Its container, or null. While another takes its place it is the one that has run last: a successor that never started
 * does not count.
 */
export async function findContainer(deps: StepDeps, id: string): Promise<Container | null> {
  const { current, previous } = await findPlaces(deps, id)
  return current && (wasStarted(current) || !previous) ? current : previous
}

/**
 * Makes the agent run as `spec` says. A successor is made beside a container that is no longer what is wanted, which
 * ends before the other starts and comes back when that fails. A crash at any step is mended by the next call.
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
  // The name may have got another image since, which is taken when that interrupts nobody.
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

/** Ends it, by force after `graceSeconds`. @throws AppError `not_found`. */
export async function stopInDocker(deps: StepDeps, id: string, graceSeconds: number): Promise<void> {
  await end(deps, await getContainer(deps, id), graceSeconds)
}

/** Ends it and leaves it wanted: the next deployment starts it again. Fine when there is none. */
export async function haltInDocker(deps: StepDeps, id: string, graceSeconds: number): Promise<void> {
  const container = await findContainer(deps, id)
  if (container && isRunning(container)) await halt(deps, container, graceSeconds)
}

/** @throws AppError as `Runtime.restart`. */
export async function restartInDocker(deps: StepDeps, id: string): Promise<void> {
  await stopInDocker(deps, id, STOP_SECONDS)
  await launch(deps, await getContainer(deps, id))
}

/** Ends it and deletes all that it has stored; with the last agent the network goes as well. */
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
 * Makes a twin of its container on an empty volume, which takes its place once everything is in it.
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

/** Which program it runs, as its image said when it was made. */
export function driverOf(deps: Pick<DockerAgentDeps, 'drivers'>, container: Container): AgentDriver {
  return deps.drivers[container.Config.Labels[LABELS.kind] === 'openclaw' ? 'openclaw' : 'stead']
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

/** Its secrets are put in again: a crash may have come between its making and theirs. */
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

/** Both are down: the engine cannot rename what is about to end. */
async function takePlace(deps: StepDeps, id: string, current: Container | null, next: string): Promise<void> {
  const names = toNames(deps.instance, id)
  if (current) await rename(deps, current.Id, names.previous)
  await rename(deps, next, names.current)
}

/** Ends what a crash left half done: afterwards there is one container of the agent, under its own name, or none. */
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

/** All that there is of an agent. What takes a place while this looks is not missed under both names. */
async function findPlaces(deps: StepDeps, id: string) {
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

/** What an agent has stored whose container somebody has taken away. */
async function findState(deps: StepDeps, id: string): Promise<string | undefined> {
  return (await listVolumes(deps, id)).find(({ holdsSecrets }) => !holdsSecrets)?.name
}

/** All of an agent but those of `container`. */
async function removeVolumes(deps: StepDeps, id: string, container: Container | null): Promise<void> {
  const kept = new Set(container?.Mounts.map(({ Name }) => Name))
  await endFilesContainers(deps, id)
  for (const { name } of await listVolumes(deps, id)) if (!kept.has(name)) await removeVolume(deps, name)
}

function newVolumeName({ instance }: StepDeps, id: string): string {
  return `stead-${instance}-${id}-${randomText(8).toLowerCase()}`
}
