import { AppError } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import { agentRunning } from '../contract/runtime.ts'
import { LABELS } from '../engine/engine.ts'
import { isUsable, mayRunAgents, type SwarmService } from './answers.ts'
import {
  changeService,
  getAgentService,
  listAgentServices,
  listNodes,
  type SwarmRuntimeParts,
  toServiceName,
} from './cluster.ts'
import { getVolume, writeVolume } from './files.ts'
import { NODE_LABEL, scale, wantedOf, withGeneration, withNode, withVolume } from './spec.ts'
import { pinAgent } from './waiting.ts'

/** Returns a name that no volume on any node has, so that no agent finds files of an earlier stay there. */
export function newVolumeName({ instance }: Pick<SwarmRuntimeParts, 'instance'>, agentId: string): string {
  return `${toServiceName(instance, agentId)}-${randomText(8).toLowerCase()}`
}

/**
 * Starts a running agent of a lost node on another one, with the newest copy of its files, or without files when there
 * is no copy. A volume of a volume driver moves with it.
 * @returns whether its files moved.
 */
export async function moveInSwarm(deps: SwarmRuntimeParts, service: SwarmService): Promise<boolean> {
  if (deps.volumeDriver) {
    await pinAgent(deps, service, null)
    return true
  }
  // Keep it off every node until the files are in place, even if the lost node returns.
  await changeService(deps, service, (spec) => withNode(scale(spec, 'moving', 0), null))
  const isRestored = await placeFiles(deps, service)
  await changeService(deps, service, (spec) => {
    const isWanted = wantedOf({ ...service, Spec: spec }) === 'moving'
    return isWanted ? withGeneration(scale(spec, 'running', 1), spec.TaskTemplate.ForceUpdate + 1) : spec
  })
  return isRestored
}

/** Brings the files of a stopped agent whose node is away to another node, if there is a copy. @returns the service. */
export async function moveIfAway(deps: SwarmRuntimeParts, service: SwarmService): Promise<SwarmService> {
  const pinned = service.Spec.Labels[NODE_LABEL]
  if (wantedOf(service) !== 'moving') {
    if (pinned === undefined) return service
    const node = (await listNodes(deps)).get(pinned)
    if (node && isUsable(node)) return service
  }
  if (deps.volumeDriver) await pinAgent(deps, service, null)
  else await placeFiles(deps, service)
  return (await getAgentService(deps, service.Spec.Labels[LABELS.agent] ?? '')).service
}

/** Restores the newest copy of the agent's files on the node with the fewest agents, and binds the agent to it. */
async function placeFiles(deps: SwarmRuntimeParts, service: SwarmService): Promise<boolean> {
  const agentId = service.Spec.Labels[LABELS.agent] ?? ''
  return deps.keptStates.use(agentId, async (file) => {
    const nodeId = await chooseNode(deps)
    const volume = newVolumeName(deps, agentId)
    await writeVolume(deps, { ...service, Spec: withNode(service.Spec, nodeId) }, volume, file)
    await changeService(deps, service, (spec) => {
      // Another manager may have moved the agent in the meantime.
      if (spec.Mode.Replicated.Replicas > 0) throw agentRunning()
      return withNode(withVolume(spec, getVolume(deps, { ...service, Spec: spec }), volume), nodeId)
    })
  })
}

/** Returns the usable node with the fewest agents. @throws AppError `unavailable` without one. */
async function chooseNode(deps: SwarmRuntimeParts): Promise<string> {
  const [nodes, agents] = await Promise.all([listNodes(deps), listAgentServices(deps)])
  const count = (id: string) => agents.filter(({ service }) => service.Spec.Labels[NODE_LABEL] === id).length
  const [first] = [...nodes.values()].filter(mayRunAgents).sort((a, b) => count(a.ID) - count(b.ID))
  if (!first) throw new AppError('unavailable', 'No machine of the swarm can run agents now')
  return first.ID
}

/** Fills a new service's volume from the newest copy of the agent's files, for a swarm that was created anew. */
export async function placeNewService(
  deps: SwarmRuntimeParts,
  order: SwarmService['Spec'],
): Promise<SwarmService['Spec']> {
  if (deps.volumeDriver) return order
  let placed = order
  await deps.keptStates.use(order.Labels[LABELS.agent] ?? '', async (file) => {
    placed = withNode(order, await chooseNode(deps))
    const service = { ID: '', Version: { Index: 0 }, Spec: placed }
    await writeVolume(deps, service, getVolume(deps, service), file)
  })
  return placed
}
