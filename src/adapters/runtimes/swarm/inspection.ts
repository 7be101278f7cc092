import type Docker from 'dockerode'
import { type AgentState, BAD_CONFIGURATION_EXIT, type Inspection } from '../contract/runtime.ts'
import { LABELS } from '../engine/engine.ts'
import { findExitCode, findLive, hasTaskEnded, type SwarmNode, type SwarmTask } from './answers.ts'
import {
  type AgentService,
  findCurrent,
  findTaskContainer,
  generationOf,
  listEnded,
  listNodes,
  look,
  type OwnNode,
  type SwarmRuntimeParts,
  toHost,
} from './cluster.ts'
import { EXIT_LABEL, NODE_LABEL, wantedOf } from './spec.ts'

/**
 * Counts unrequested ends of tasks since an agent's last start. The swarm remembers only its last few tasks (five by
 * default), which limits the count after a restart of the platform.
 */
export class RestartCounter {
  readonly #counts = new Map<string, { generation: number; ended: Set<string>; restarts: number }>()

  /** Returns the restart count. */
  count(found: AgentService): number {
    const { ID, Spec } = found.service
    const generation = Spec.TaskTemplate.ForceUpdate
    const before = this.#counts.get(ID)
    const last = before?.generation === generation ? before : { generation, ended: new Set<string>(), restarts: 0 }
    const ended = listEnded(found)
    const restarts = last.restarts + ended.difference(last.ended).size
    this.#counts.set(ID, { generation, ended, restarts })
    return restarts
  }

  /** Drops agents that no longer exist. */
  keep(serviceIds: ReadonlySet<string>): void {
    for (const id of this.#counts.keys()) if (!serviceIds.has(id)) this.#counts.delete(id)
  }
}

/** Converts services to inspections; details of containers are known on this node only. */
export async function toInspections(
  deps: SwarmRuntimeParts,
  counter: RestartCounter,
  agents: readonly AgentService[],
): Promise<Inspection[]> {
  const [self, nodes] = await Promise.all([look(deps, async (_docker, own) => own), listNodes(deps)])
  return Promise.all(agents.map((found) => toInspection(deps, { counter, found, self, nodes })))
}

type Facts = { counter: RestartCounter; found: AgentService; self: OwnNode; nodes: ReadonlyMap<string, SwarmNode> }

async function toInspection(deps: SwarmRuntimeParts, { counter, found, self, nodes }: Facts): Promise<Inspection> {
  const { Labels } = found.service.Spec
  const live = findCurrent(found)
  // The last task; its exit is reported.
  const last = live ?? generationOf(found).findLast(hasTaskEnded) ?? null
  const container = last?.NodeID === self.nodeId ? await findTaskContainer(deps, last) : null
  const isRunning = live !== null && container?.State.Running !== false
  const state = toState(found, isRunning)
  const nodeId = live?.NodeID ?? Labels[NODE_LABEL] ?? self.nodeId
  return {
    id: Labels[LABELS.agent] ?? '',
    kind: Labels[LABELS.kind] === 'openclaw' ? 'openclaw' : 'stead',
    state,
    host: toHost(self, nodes, nodeId) ?? self.address,
    port: Number(Labels[LABELS.port]),
    image: Labels[LABELS.image] ?? null,
    version: Labels[LABELS.version] || null,
    startedAt: state === 'running' && live ? startOf(live, container) : null,
    exitCode: state === 'running' ? null : findLastExitCode(found, last, container),
    isOutOfMemory: state !== 'running' && container?.State.OOMKilled === true,
    restarts: state === 'stopped' ? 0 : counter.count(found),
  }
}

function toState(found: AgentService, isRunning: boolean): AgentState {
  const wanted = wantedOf(found.service)
  if (wanted === 'stopped' || wanted === 'held') return 'stopped'
  if (wanted === 'moving') return 'restarting'
  if (wanted === 'exited' || hasBadConfiguration(found)) return 'exited'
  return isRunning ? 'running' : 'restarting'
}

/** Returns whether the agent exited with a configuration error since its last start. */
export function hasBadConfiguration(found: AgentService): boolean {
  return generationOf(found).some((task) => findExitCode(task) === BAD_CONFIGURATION_EXIT)
}

/** The creation of the task is the best known start time on other nodes. */
function startOf(task: SwarmTask, container: Docker.ContainerInspectInfo | null): Date {
  return container ? new Date(container.State.StartedAt) : task.CreatedAt
}

function findLastExitCode(found: AgentService, last: SwarmTask | null, container: Docker.ContainerInspectInfo | null) {
  const kept = found.service.Spec.Labels[EXIT_LABEL]
  if (kept !== undefined) return Number(kept)
  const ended = last && findLive([last]) === null ? findExitCode(last) : null
  return ended ?? (container && !container.State.Running ? container.State.ExitCode : null)
}
