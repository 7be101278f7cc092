import type Docker from 'dockerode'
import ipaddr from 'ipaddr.js'
import { AppError } from '../../../core/errors.ts'
import type { AgentDriver } from '../contract/agent-image.ts'
import { type AgentKind, agentNotFound, engineUnavailable } from '../contract/runtime.ts'
import { type Engine, hasStatus, LABELS, orNull } from '../engine/engine.ts'
import {
  findLive,
  findNodeAddress,
  hasTaskEnded,
  mayTaskRun,
  Nodes,
  type ServiceSpec,
  SwarmCluster,
  SwarmMembership,
  type SwarmNode,
  SwarmService,
  type SwarmTask,
  Tasks,
} from './answers.ts'
import type { VolumeDriver } from './spec.ts'

/**
 * `pollMs` is the polling interval, `nodeGraceMs` how long a node may be away, `anewMs` how long another swarm must be
 * reported before it is accepted.
 */
export type SwarmTiming = {
  pollMs: number
  restartDelayMs: number
  nodeGraceMs: number
  startMs: number
  anewMs: number
}

/** `instance` identifies this installation in a shared swarm; `digestKey` is its own secret. */
export type SwarmRuntimeParts = {
  engine: Engine
  instance: string
  digestKey: string
  drivers: Readonly<Record<AgentKind, AgentDriver>>
  timing: SwarmTiming
  cluster: ClusterGuard
  /** Images that can serve files, best first. */
  filesImages: readonly string[]
  /** Null: volumes of each node's own disk. */
  volumeDriver: VolumeDriver | null
  keptStates: KeptStates
}

/** Copies of agents' files, from which an agent starts whose node is lost. */
export type KeptStates = {
  /** Calls `work` with the newest copy of an agent's files. @returns false when there is none. */
  use(agentId: string, work: (file: string) => Promise<void>): Promise<boolean>
}

export const NO_KEPT_STATES: KeptStates = { use: async () => false }

/** The node of the engine we use. */
export type OwnNode = { nodeId: string; address: string }

/** An agent's service and its remembered tasks, oldest first. */
export type AgentService = { service: SwarmService; tasks: SwarmTask[] }

const ENGINE_TROUBLE = [406, 500, 502, 503, 504]
const UPDATE_ATTEMPTS = 5

/**
 * Detects another swarm. An engine that left its swarm, or briefly reports another one, lists no agents, although they
 * may exist. If the other swarm persists, it is new and the agents are gone.
 */
export class ClusterGuard {
  readonly #anewMs: number
  readonly #onAnew: (id: string) => void
  #id: string | null = null
  #self: OwnNode | null = null
  #other: { id: string; sinceMs: number } | null = null

  /** `onAnew` is called when another swarm was accepted. */
  constructor(anewMs: number, onAnew: (id: string) => void) {
    this.#anewMs = anewMs
    this.#onAnew = onAnew
  }

  /** @throws AppError `internal` {code: 'ENGINE_UNAVAILABLE'} when this is no manager, or of another swarm. */
  async require(docker: Docker): Promise<OwnNode> {
    const { ID } = SwarmCluster.parse(await docker.swarmInspect())
    this.#believe(ID)
    this.#self ??= await findSelf(docker)
    return this.#self
  }

  #believe(id: string): void {
    if (this.#id !== null && this.#id !== id && !this.#hasStayed(id)) {
      throw engineUnavailable(new Error('This is another swarm than before'))
    }
    const isAnew = this.#id !== null && this.#id !== id
    this.#id = id
    this.#other = null
    if (!isAnew) return
    this.#self = null
    this.#onAnew(id)
  }

  #hasStayed(id: string): boolean {
    const now = performance.now()
    if (this.#other?.id !== id) this.#other = { id, sinceMs: now }
    return now - this.#other.sinceMs >= this.#anewMs
  }
}

/**
 * Returns the address of this node for agents on every node.
 * @throws AppError `unavailable` for a loopback address.
 */
export async function findPlatformHost(deps: SwarmRuntimeParts): Promise<string> {
  const address = await look(deps, async (_docker, self) => self.address)
  const reason = whyUnreachable(address)
  if (reason !== null) throw new AppError('unavailable', `Agents cannot run: ${reason}`)
  return address
}

/** Returns why agents in containers cannot reach this address; null when they can. */
function whyUnreachable(address: string): string | null {
  const isLoopback = ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
  if (!isLoopback) return null
  return `the swarm knows this machine as ${address}, at which its agents cannot reach the platform (docker swarm init --advertise-addr with an address of its network)`
}

/** Returns why an engine cannot run agents in a swarm; null when it can. */
export async function whyNoSwarm(engine: Engine): Promise<string | null> {
  const info: { Swarm?: unknown } = await engine.ask((docker) => docker.info())
  const membership = SwarmMembership.safeParse(info.Swarm)
  if (!membership.success || !membership.data.ControlAvailable) {
    return 'the engine is no manager of a swarm (docker swarm init --advertise-addr)'
  }
  return whyUnreachable(membership.data.NodeAddr)
}

async function findSelf(docker: Docker): Promise<OwnNode> {
  const info: { Swarm?: unknown } = await docker.info()
  const { NodeID, NodeAddr } = SwarmMembership.parse(info.Swarm)
  return { nodeId: NodeID, address: NodeAddr }
}

/** Returns whether the engine is a responding manager of a swarm. @throws as the engine. */
export async function isManager(engine: Engine): Promise<boolean> {
  const info: { Swarm?: unknown } = await engine.ask((docker) => docker.info())
  const membership = SwarmMembership.safeParse(info.Swarm)
  return membership.success && membership.data.ControlAvailable
}

/** Runs a read-only call. Errors of a manager without its swarm count as no response. */
export async function look<T>(
  deps: SwarmRuntimeParts,
  work: (docker: Docker, self: OwnNode) => Promise<T>,
): Promise<T> {
  try {
    return await deps.engine.ask(async (docker) => work(docker, await deps.cluster.require(docker)))
  } catch (error) {
    throw hasStatus(error, ...ENGINE_TROUBLE) ? engineUnavailable(error) : error
  }
}

/** Returns null when missing, or when its labels are not ours. */
export async function findAgentService(deps: SwarmRuntimeParts, id: string): Promise<AgentService | null> {
  const [found] = await look(deps, (docker) => readFound(docker, () => readService(deps, docker, id)))
  return found ?? null
}

/** Lists the services of this installation's agents. */
export async function listAgentServices(deps: SwarmRuntimeParts): Promise<AgentService[]> {
  const filters = JSON.stringify({ label: [`${LABELS.instance}=${deps.instance}`, LABELS.agent] })
  return look(deps, (docker) =>
    readFound(docker, async () => SwarmService.array().parse(await docker.listServices({ filters }))),
  )
}

/** Lists all tasks of an agent, also those of a removed service. */
export async function listAgentTasks(deps: SwarmRuntimeParts, id: string): Promise<SwarmTask[]> {
  const tasks = await look(deps, async (docker) => Tasks.parse(await docker.listTasks()))
  return tasks.filter(({ Spec }) => {
    const labels = Spec.ContainerSpec?.Labels ?? {}
    return labels[LABELS.instance] === deps.instance && labels[LABELS.agent] === id
  })
}

/** Lists the nodes of the swarm by id. */
export async function listNodes(deps: SwarmRuntimeParts): Promise<Map<string, SwarmNode>> {
  const nodes = await look(deps, async (docker) => Nodes.parse(await docker.listNodes()))
  return new Map(nodes.map((node) => [node.ID, node]))
}

/** Returns the address at which the platform reaches a node; null when unknown. */
export function toHost(self: OwnNode, nodes: ReadonlyMap<string, SwarmNode>, nodeId: string): string | null {
  if (nodeId === self.nodeId) return self.address
  const node = nodes.get(nodeId)
  return node ? findNodeAddress(node) : null
}

/** Updates a service's spec, retrying after concurrent changes. @returns the new spec. */
export async function changeService(
  deps: SwarmRuntimeParts,
  service: SwarmService,
  edit: (spec: ServiceSpec) => ServiceSpec,
): Promise<ServiceSpec> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await deps.engine.change(async (docker, abortSignal) => {
        const { Version, Spec } = SwarmService.parse(await docker.getService(service.ID).inspect({ abortSignal }))
        const edited = edit(structuredClone(Spec))
        await docker.getService(service.ID).update({ _query: { version: Version.Index }, _body: edited, abortSignal })
        return edited
      })
    } catch (error) {
      const isLate = error instanceof Error && /out of sequence/.test(error.message)
      if (!isLate || attempt === UPDATE_ATTEMPTS) throw error
    }
  }
}

/** Returns the name of an agent's service, and of its own network. */
export function toServiceName(instance: string, agentId: string): string {
  return `stead-${instance}-${agentId}`
}

/** Returns the tasks of the agent's last requested start. */
export function generationOf({ service, tasks }: AgentService): SwarmTask[] {
  return tasks.filter((task) => task.Spec.ForceUpdate === service.Spec.TaskTemplate.ForceUpdate)
}

/** Returns the ids of ended tasks of the last start. A task that never got a node was no attempt. */
export function listEnded(found: AgentService): Set<string> {
  const ended = generationOf(found).filter((task) => hasTaskEnded(task) && task.NodeID !== '')
  return new Set(ended.map((task) => task.ID))
}

/** Returns a task's container on this node; null without one. */
export async function findTaskContainer(
  deps: SwarmRuntimeParts,
  task: SwarmTask,
): Promise<Docker.ContainerInspectInfo | null> {
  const id = task.Status.ContainerStatus?.ContainerID
  if (!id) return null
  return deps.engine.ask((docker, abortSignal) => orNull(docker.getContainer(id).inspect({ abortSignal })))
}

/** Lists tasks that may have a process on a responding node. */
export function listUnended(tasks: readonly SwarmTask[], nodes: ReadonlyMap<string, SwarmNode>): SwarmTask[] {
  return tasks.filter((task) => mayTaskRun(task) && nodes.get(task.NodeID)?.Status.State === 'ready')
}

/** Returns the running task of the last start. */
export function findCurrent(found: AgentService): SwarmTask | null {
  return findLive(generationOf(found))
}

/** Reads specs after tasks. Otherwise a task that a new spec replaced would look like a crash. */
async function readFound(docker: Docker, readServices: () => Promise<SwarmService[]>): Promise<AgentService[]> {
  const ids = (await readServices()).map(({ ID }) => ID)
  if (ids.length === 0) return []
  const tasks = await readTasks(docker, ids)
  return (await readServices())
    .filter(({ ID }) => ids.includes(ID))
    .map((service) => ({ service, tasks: tasks.filter(({ ServiceID }) => ServiceID === service.ID) }))
}

/** @returns one or none. */
async function readService(deps: SwarmRuntimeParts, docker: Docker, id: string): Promise<SwarmService[]> {
  const raw: unknown = await orNull(docker.getService(toServiceName(deps.instance, id)).inspect())
  if (raw === null) return []
  const service = SwarmService.parse(raw)
  const { Labels } = service.Spec
  return Labels[LABELS.instance] === deps.instance && Labels[LABELS.agent] === id ? [service] : []
}

/** Docker answers 404 for the tasks of a service that was just removed; read all tasks then. */
async function readTasks(docker: Docker, serviceIds: string[]): Promise<SwarmTask[]> {
  const some: unknown = await orNull(docker.listTasks({ filters: JSON.stringify({ service: serviceIds }) }))
  return Tasks.parse(some ?? (await docker.listTasks()))
}

/** @throws AppError `not_found`. */
export async function getAgentService(deps: SwarmRuntimeParts, id: string): Promise<AgentService> {
  const found = await findAgentService(deps, id)
  if (!found) throw agentNotFound()
  return found
}

/** Returns the id of the node of the engine we use. */
export function findOwnNode(deps: SwarmRuntimeParts): Promise<string> {
  return look(deps, async (_docker, { nodeId }) => nodeId)
}
