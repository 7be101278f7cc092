import type Docker from 'dockerode'
import { AppError } from '../../../core/errors.ts'
import { type AgentState, BAD_CONFIGURATION_EXIT, type Inspection } from '../contract/runtime.ts'
import { GIVEN_UP, toNames, UNWANTED, WANTED } from '../engine/container.ts'
import { type Engine, hasStatus, LABELS, orNull, toEngineError } from '../engine/engine.ts'
import type { AskedFor } from './watch.ts'

/** A container as the engine describes it. */
export type Container = Docker.ContainerInspectInfo

/** `instance` is this installation's, in names and labels; `asked` learns of every end and start before it happens. */
export type StepDeps = { engine: Engine; instance: string; asked: AskedFor }

const UPDATE_TRIES = 20
const UPDATE_PAUSE_MS = 100

type RestartPolicy = typeof WANTED | typeof UNWANTED | typeof GIVEN_UP

/** A started container has had a process at some time, even if it ended at once. */
export function wasStarted(container: Container): boolean {
  return !container.State.StartedAt.startsWith('0001-')
}

/** Has it a process that serves, or is it about to get one? Bad configuration does not heal by trying again. */
export function isRunning({ State }: Container): boolean {
  return State.Running && !(State.Restarting && State.ExitCode === BAD_CONFIGURATION_EXIT)
}

/** Null for what is not there, and for what has the name but not our labels. */
export async function findByName(deps: StepDeps, agentId: string, name: string): Promise<Container | null> {
  const found = await deps.engine.ask((docker, abortSignal) =>
    orNull(docker.getContainer(name).inspect({ abortSignal })),
  )
  const labels = found?.Config.Labels ?? {}
  return labels[LABELS.instance] === deps.instance && labels[LABELS.agent] === agentId ? found : null
}

/** @returns its id. @throws AppError `conflict` {code: 'NAME_TAKEN'} when a container that is not ours has the name. */
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

/** Ends it, by force after `graceSeconds`. Its restart policy keeps it down from before that on, whatever happens here. */
export async function end(deps: StepDeps, container: Container, graceSeconds: number): Promise<void> {
  await setRestartPolicy(deps, container, UNWANTED)
  await halt(deps, container, graceSeconds)
}

/** Ends it and leaves it wanted: its engine does not start it again, the next deployment does. */
export async function halt(deps: StepDeps, container: Container, graceSeconds: number): Promise<void> {
  if (container.State.Running) deps.asked.end(container.Id)
  await deps.engine.change((docker, abortSignal) =>
    unlessDone(docker.getContainer(container.Id).stop({ t: graceSeconds, abortSignal })),
  )
}

/** Starts it and wants it from then on. @throws AppError `conflict` {code: 'PORT_TAKEN'}, and it stays down. */
export async function launch(deps: StepDeps, container: Container): Promise<void> {
  // One that its engine keeps starting has to be ended before it can be started.
  if (container.State.Running) await end(deps, container, 0)
  await setRestartPolicy(deps, container, WANTED)
  deps.asked.start(container.Id)
  try {
    await deps.engine.change((docker, abortSignal) =>
      unlessDone(docker.getContainer(container.Id).start({ abortSignal })),
    )
  } catch (error) {
    const reason = toEngineError(error, { port: Number(container.Config.Labels[LABELS.port]) })
    if (reason.extra.code !== 'ENGINE_UNAVAILABLE') await setRestartPolicy(deps, container, UNWANTED)
    throw reason
  }
}

/**
 * Lets a container that its engine keeps starting end by itself for good. It is not ended from here: by then it may have
 * been started again, and the exit code of that end would hide the one that says why.
 */
export async function giveUp(deps: StepDeps, container: Container): Promise<void> {
  await setRestartPolicy(deps, container, GIVEN_UP)
}

/** What the policy says outlives the platform: an agent that somebody stopped is told from one that broke. */
export async function setRestartPolicy(deps: StepDeps, container: Container, policy: RestartPolicy): Promise<void> {
  for (let triesLeft = UPDATE_TRIES; ; triesLeft--) {
    try {
      return await deps.engine.ask((docker, abortSignal) =>
        docker.getContainer(container.Id).update({ RestartPolicy: policy, abortSignal }),
      )
    } catch (error) {
      // A process that has just ended is told in the words of whatever part of the engine noticed: a fault that lasts is thrown.
      if (triesLeft === 0 || !hasStatus(error, 500)) throw error
      await Bun.sleep(UPDATE_PAUSE_MS)
    }
  }
}

/** Ends it by force and deletes it with its secrets. Its state is in a volume with a name, which stays. */
export async function removeContainer(deps: StepDeps, id: string): Promise<void> {
  deps.asked.removal(id)
  await deps.engine.change((docker, abortSignal) =>
    orNull(docker.getContainer(id).remove({ force: true, v: true, abortSignal })),
  )
}

export async function rename(deps: StepDeps, id: string, name: string): Promise<void> {
  await deps.engine.ask((docker, abortSignal) => docker.getContainer(id).rename({ name, abortSignal }))
}

/** A volume with an agent's labels, for what it stores or for its secrets. */
type AgentVolume = { name: string; holdsSecrets: boolean }

/** Those of an agent, whether a container has them or not. */
export async function listVolumes(
  deps: Pick<StepDeps, 'engine' | 'instance'>,
  agentId: string,
): Promise<AgentVolume[]> {
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

/** The volume behind `folder` of a container. */
export function volumeAt(container: Container, folder: string): string | undefined {
  return container.Mounts.find((mount) => mount.Destination === folder)?.Name
}

/** The same container once more, with `folder` on another volume. Its image is named by content, so it is the same. */
export function toTwin(container: Container, agentId: string, folder: string, volume: string, instance: string) {
  const { Config, HostConfig } = container
  const Mounts = (HostConfig.Mounts ?? []).map((mount) =>
    mount.Target === folder ? { ...mount, Source: volume } : mount,
  )
  const { Hostname: _, ...rest } = Config
  return { ...rest, name: toNames(instance, agentId).next, HostConfig: { ...HostConfig, Mounts } }
}

/** 304: it is already as it should be. */
async function unlessDone(call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    if (!hasStatus(error, 304)) throw error
  }
}

/** Where agents are published: never further than this machine. */
const AGENT_HOST = '127.0.0.1'

/** What its container says of an agent. `endedOutOfMemory` is what the engine reported when it ended. */
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

/** One that ended badly and is still wanted, with nobody to start it again, has been stopped by someone else than us. */
function toState(container: Container): AgentState {
  const { Running, Restarting, ExitCode } = container.State
  if (isRunning(container)) return Restarting ? 'restarting' : 'running'
  const isWanted = container.HostConfig.RestartPolicy?.Name !== 'no'
  const isBroken = wasStarted(container) && ExitCode === BAD_CONFIGURATION_EXIT
  return isBroken && (isWanted || Running) ? 'exited' : 'stopped'
}
