import { type AgentState, BAD_CONFIGURATION_EXIT, type Inspection } from '../contract/runtime.ts'
import { LABELS } from '../engine/engine.ts'
import { type Container, isRunning, wasStarted } from './steps.ts'

/** Where agents are published: never further than this machine. */
export const AGENT_HOST = '127.0.0.1'

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
