import { agentNotFound } from '../contract/runtime.ts'
import { agentDrivers } from '../engine/drivers.ts'
import type { Engine } from '../engine/engine.ts'
import { ClusterGuard, findAgent, type SwarmDeps } from './cluster.ts'
import { readVolume } from './files.ts'
import { TIMING } from './swarm.ts'

/**
 * As `readStoredInDocker`, for an agent whose volume is on the machine of `engine`.
 * @throws AppError `not_found` when it has no service, `unavailable` {code: 'ON_ANOTHER_NODE'}, `internal`
 * {code: 'ENGINE_UNAVAILABLE'}.
 */
export async function readStoredInSwarm(
  { engine, instance }: { engine: Engine; instance: string },
  id: string,
  file: string,
): Promise<void> {
  const cluster = new ClusterGuard(TIMING.anewMs, () => {})
  const nothing = { digestKey: '', filesImages: [] }
  const deps: SwarmDeps = { engine, instance, drivers: agentDrivers, timing: TIMING, cluster, ...nothing }
  const found = await findAgent(deps, id)
  if (!found) throw agentNotFound()
  await readVolume(deps, found.service, file)
}
