import type Docker from 'dockerode'
import { orNull } from '../engine/engine.ts'
import { hasTaskEnded, Tasks } from './answers.ts'
import { look, type SwarmRuntimeParts } from './cluster.ts'

const LOOK_AGAIN_MS = 200
const MAX_WAIT_MS = 30_000

/** Runs a service of one task to its end, and removes it. @returns why it did not succeed; null when it did. */
export async function runOnce(
  deps: SwarmRuntimeParts,
  order: Docker.CreateServiceOptions & { Name: string },
): Promise<string | null> {
  await removeService(deps, order.Name)
  await deps.engine.change((docker) => docker.createService(order))
  try {
    return await untilEnded(deps, order.Name)
  } finally {
    await removeService(deps, order.Name)
  }
}

async function untilEnded(deps: SwarmRuntimeParts, name: string): Promise<string | null> {
  const filters = JSON.stringify({ service: [name] })
  let reason = 'it took too long'
  for (const deadline = performance.now() + MAX_WAIT_MS; performance.now() < deadline; await Bun.sleep(LOOK_AGAIN_MS)) {
    const [task] = await look(deps, async (docker) => Tasks.parse(await docker.listTasks({ filters })))
    if (task?.Status.Err) reason = task.Status.Err
    if (task && hasTaskEnded(task)) return task.Status.State === 'complete' ? null : reason
  }
  return reason
}

/** Removes a service if it exists. */
export async function removeService(deps: SwarmRuntimeParts, name: string): Promise<void> {
  await deps.engine.change((docker, abortSignal) => orNull(docker.getService(name).remove({ abortSignal })))
}
