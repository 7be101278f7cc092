import { hasStatus, LABELS, orNull } from '../engine/engine.ts'
import { type SwarmDeps, toServiceName } from './cluster.ts'
import { untilReleased } from './ending.ts'

/** The network that an agent has for itself. */
export async function makeNetwork(deps: SwarmDeps, id: string): Promise<void> {
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

/** Removes it once the last task has let go of it. @throws AppError `internal` when none does. */
export async function removeNetwork(deps: SwarmDeps, id: string): Promise<void> {
  const network = toServiceName(deps.instance, id)
  await untilReleased('network', () =>
    deps.engine.change((docker, abortSignal) => orNull(docker.getNetwork(network).remove({ abortSignal }))),
  )
}
