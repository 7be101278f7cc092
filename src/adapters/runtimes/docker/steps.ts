import type Docker from 'dockerode'
import { AppError } from '../../../core/errors.ts'
import type { Relays } from '../contract/relay.ts'
import { type AgentState, BAD_CONFIGURATION_EXIT, type Inspection } from '../contract/runtime.ts'
import { GIVEN_UP, toNames, UNWANTED, WANTED } from '../engine/container.ts'
import { type Engine, hasStatus, LABELS, orNull, toEngineError } from '../engine/engine.ts'
import type { ExpectedEvents } from './watch.ts'

/** A container as inspected by the engine. */
export type Container = Docker.ContainerInspectInfo

/** `instance` is this installation's id in names and labels; `asked` records every stop and start before it happens. */
export type StepDeps = { engine: Engine; instance: string; asked: ExpectedEvents; relays: Relays }

const UPDATE_TRIES = 20
const UPDATE_PAUSE_MS = 100

type RestartPolicy = typeof WANTED | typeof UNWANTED | typeof GIVEN_UP

/** Returns whether the container ever had a process. */
export function wasStarted(container: Container): boolean {
  return !container.State.StartedAt.startsWith('0001-')
}

/** Returns whether the container runs or will be restarted usefully; a bad configuration does not count. */
export function isRunning({ State }: Container): boolean {
  return State.Running && !(State.Restarting && State.ExitCode === BAD_CONFIGURATION_EXIT)
}

/** Dependencies for finding a container. */
export type FindDeps = Pick<StepDeps, 'engine' | 'instance'>

/** Returns null when missing, or when its labels are not ours. */
export async function findByName(deps: FindDeps, agentId: string, name: string): Promise<Container | null> {
  const found = await deps.engine.ask((docker, abortSignal) =>
    orNull(docker.getContainer(name).inspect({ abortSignal })),
  )
  const labels = found?.Config.Labels ?? {}
  return labels[LABELS.instance] === deps.instance && labels[LABELS.agent] === agentId ? found : null
}

/** @returns its id. @throws AppError `conflict` {code: 'NAME_TAKEN'} when a foreign container has the name. */
export async function create(deps: StepDeps, order: Docker.ContainerCreateOptions): Promise<string> {
  try {
    const container = await deps.engine.change((docker, abortSignal) =>
      docker.createContainer({ ...order, abortSignal }),
    )
    return container.id
  } catch (error) {
    if (!hasStatus(error, 409)) throw error
    const text = `A container named ${order.name} exists that is not this installation's`
    throw new AppError('conflict', text, { code: 'NAME_TAKEN' }, { cause: error })
  }
}

/** Stops the container, by force after `graceSeconds`. Its restart policy is changed first, so that it stays down. */
export async function end(deps: StepDeps, container: Container, graceSeconds: number): Promise<void> {
  await setRestartPolicy(deps, container, UNWANTED)
  await halt(deps, container, graceSeconds)
  deps.relays.close(container.Config.Labels[LABELS.agent] ?? '')
}

/** Stops the container but keeps its restart policy: the next deployment starts it. */
export async function halt(deps: StepDeps, container: Container, graceSeconds: number): Promise<void> {
  if (container.State.Running) deps.asked.end(container.Id)
  await deps.engine.change((docker, abortSignal) =>
    unlessDone(docker.getContainer(container.Id).stop({ t: graceSeconds, abortSignal })),
  )
}

/**
 * Starts the container and sets its restart policy.
 * @throws AppError `conflict` {code: 'PORT_TAKEN'}; the container then stays stopped.
 */
export async function launch(deps: StepDeps, container: Container): Promise<void> {
  // A container that is restarting must be stopped before it can be started.
  if (container.State.Running) await end(deps, container, 0)
  await setRestartPolicy(deps, container, WANTED)
  const { [LABELS.agent]: agentId = '', [LABELS.port]: port } = container.Config.Labels
  deps.asked.start(container.Id)
  try {
    await deps.relays.open(agentId, Number(port))
    await deps.engine.change((docker, abortSignal) =>
      unlessDone(docker.getContainer(container.Id).start({ abortSignal })),
    )
  } catch (error) {
    const reason = toEngineError(error, { port: Number(port) })
    if (reason.extra.code !== 'ENGINE_UNAVAILABLE') {
      deps.relays.close(agentId)
      await setRestartPolicy(deps, container, UNWANTED)
    }
    throw reason
  }
}

/**
 * Waits until a restarting container stays down. Stopping it could end its next run, whose exit code would hide the
 * relevant one.
 */
export async function giveUp(deps: StepDeps, container: Container): Promise<void> {
  await setRestartPolicy(deps, container, GIVEN_UP)
}

/** Sets the restart policy, which also records for later whether an agent was stopped on purpose. */
export async function setRestartPolicy(deps: StepDeps, container: Container, policy: RestartPolicy): Promise<void> {
  for (let triesLeft = UPDATE_TRIES; ; triesLeft--) {
    try {
      return await deps.engine.ask((docker, abortSignal) =>
        docker.getContainer(container.Id).update({ RestartPolicy: policy, abortSignal }),
      )
    } catch (error) {
      // The engine answers 500 with varying messages while a process ends; only a lasting failure is thrown.
      if (triesLeft === 0 || !hasStatus(error, 500)) throw error
      await Bun.sleep(UPDATE_PAUSE_MS)
    }
  }
}

/** Removes the container by force, with its secrets. The named volume with its state stays. */
export async function removeContainer(deps: StepDeps, id: string): Promise<void> {
  deps.asked.removal(id)
  await deps.engine.change((docker, abortSignal) =>
    orNull(docker.getContainer(id).remove({ force: true, v: true, abortSignal })),
  )
}

export async function rename(deps: StepDeps, id: string, name: string): Promise<void> {
  await deps.engine.ask((docker, abortSignal) => docker.getContainer(id).rename({ name, abortSignal }))
}

/** A volume with an agent's labels, for its state or its secrets. */
type AgentVolume = { name: string; holdsSecrets: boolean }

/** Lists the volumes of an agent, mounted or not. */
export async function listVolumes(deps: FindDeps, agentId: string): Promise<AgentVolume[]> {
  const label = [`${LABELS.instance}=${deps.instance}`, `${LABELS.agent}=${agentId}`]
  const found = await deps.engine.ask((docker, abortSignal) => docker.listVolumes({ filters: { label }, abortSignal }))
  return (found.Volumes ?? []).map(({ Name, Labels }) => ({
    name: Name,
    holdsSecrets: Labels?.[LABELS.secrets] !== undefined,
  }))
}

export async function removeVolume(deps: StepDeps, name: string): Promise<void> {
  await deps.engine.change((docker, abortSignal) => orNull(docker.getVolume(name).remove({ abortSignal })))
}

/** Returns the volume that is mounted at `folder`. */
export function volumeAt(container: Container, folder: string): string | undefined {
  return container.Mounts.find((mount) => mount.Destination === folder)?.Name
}

/**
 * Copies a container's settings with another volume at `folder`. Its image is named by content, so it stays the same.
 */
export function toTwin(container: Container, agentId: string, folder: string, volume: string, instance: string) {
  const { Config, HostConfig } = container
  const Mounts = (HostConfig.Mounts ?? []).map((mount) =>
    mount.Target === folder ? { ...mount, Source: volume } : mount,
  )
  const { Hostname: _, ...rest } = Config
  return { ...rest, name: toNames(instance, agentId).next, HostConfig: { ...HostConfig, Mounts } }
}

/** Ignores 304, which means that nothing had to change. */
async function unlessDone(call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    if (!hasStatus(error, 304)) throw error
  }
}

/** Agents are published on this machine only. */
const AGENT_HOST = '127.0.0.1'

/** Converts a container's state. `endedOutOfMemory` is the engine's report of its last end. */
export function toInspection(container: Container, endedOutOfMemory: boolean): Inspection {
  const { State, RestartCount } = container
  const labels = container.Config.Labels
  const isLive = State.Running && !State.Restarting
  return {
    id: labels[LABELS.agent] ?? '',
    kind: labels[LABELS.kind] === 'openclaw' ? 'openclaw' : 'stead',
    state: toState(container),
    host: AGENT_HOST,
    port: Number(labels[LABELS.port]),
    image: labels[LABELS.image] ?? null,
    version: labels[LABELS.version] || null,
    startedAt: isLive ? new Date(State.StartedAt) : null,
    exitCode: isLive || !wasStarted(container) ? null : State.ExitCode,
    isOutOfMemory: State.OOMKilled || endedOutOfMemory,
    restarts: RestartCount,
  }
}

/** A wanted container that failed and is not restarted was stopped by other means. */
function toState(container: Container): AgentState {
  const { Running, Restarting, ExitCode } = container.State
  if (isRunning(container)) return Restarting ? 'restarting' : 'running'
  const isWanted = container.HostConfig.RestartPolicy?.Name !== 'no'
  const isBroken = wasStarted(container) && ExitCode === BAD_CONFIGURATION_EXIT
  return isBroken && (isWanted || Running) ? 'exited' : 'stopped'
}
