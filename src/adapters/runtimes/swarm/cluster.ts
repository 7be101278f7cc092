import type Docker from 'dockerode'
import ipaddr from 'ipaddr.js'
import { AppError } from '../../../core/errors.ts'
import type { AgentDriver } from '../contract/agent-image.ts'
import { type AgentKind, agentNotFound, engineUnavailable } from '../contract/runtime.ts'
import { type Engine, hasStatus, LABELS, orNull } from '../engine/engine.ts'
import {
  Cluster,
  findLive,
  findNodeAddress,
  hasTaskEnded,
  Membership,
  mayTaskRun,
  Nodes,
  type ServiceSpec,
  type SwarmNode,
  SwarmService,
  type SwarmTask,
  Tasks,
} from './answers.ts'

/**
 * How long things may take: `pollMs` is between two looks at the swarm, `nodeGraceMs` how long a machine may be away,
 * `anewMs` how long another swarm is seen in place of the one before until it is believed.
 */
export type SwarmTiming = {
  pollMs: number
  restartDelayMs: number
  nodeGraceMs: number
  startMs: number
  anewMs: number
}

/** `instance` names this installation in a swarm that others may share; `digestKey` is a secret of its own. */
export type SwarmRuntimeParts = {
  engine: Engine
  instance: string
  digestKey: string
  drivers: Readonly<Record<AgentKind, AgentDriver>>
  timing: SwarmTiming
  cluster: ClusterGuard
  /** Images that know what to do with files, best first. */
  filesImages: readonly string[]
}

/** The machine whose engine we speak to. */
export type OwnNode = { nodeId: string; address: string }

/** An agent's service and all tasks that the swarm remembers of it, oldest first. */
export type AgentService = { service: SwarmService; tasks: SwarmTask[] }

const ENGINE_TROUBLE = [406, 500, 502, 503, 504]
const UPDATE_ATTEMPTS = 5

/**
 * Tells one swarm from another: an engine that has left its swarm, or is asked of another one for a moment, knows of no
 * agent, and that says nothing about them. A swarm that stays has been made anew: then the agents are gone.
 */
export class ClusterGuard {
  readonly #anewMs: number
  readonly #onAnew: (id: string) => void
  #id: string | null = null
  #self: OwnNode | null = null
  #other: { id: string; sinceMs: number } | null = null

  /** `onAnew` hears of a swarm that has taken the place of the one before. */
  constructor(anewMs: number, onAnew: (id: string) => void) {
    this.#anewMs = anewMs
    this.#onAnew = onAnew
  }

  /** @throws AppError `internal` {code: 'ENGINE_UNAVAILABLE'} when this is no manager, or of another swarm than before. */
  async require(docker: Docker): Promise<OwnNode> {
    const { ID } = Cluster.parse(await docker.swarmInspect())
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
 * The address at which agents anywhere in the swarm find this machine.
 * @throws AppError `unavailable` when it is one that leads every container to itself.
 */
export async function findPlatformHost(deps: SwarmRuntimeParts): Promise<string> {
  const address = await look(deps, async (_docker, self) => self.address)
  const reason = whyUnreachable(address)
  if (reason !== null) throw new AppError('unavailable', `Agents cannot run: ${reason}`)
  return address
}

/** Why agents in containers could not reach a machine of this address; null when they could. */
function whyUnreachable(address: string): string | null {
  const isLoopback = ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
  if (!isLoopback) return null
  return `the swarm knows this machine as ${address}, at which its agents cannot reach the platform (docker swarm init --advertise-addr with an address of its network)`
}

/** What keeps an engine from running agents in a swarm, in words; null when nothing does. */
export async function whyNoSwarm(engine: Engine): Promise<string | null> {
  const info: { Swarm?: unknown } = await engine.ask((docker) => docker.info())
  const membership = Membership.safeParse(info.Swarm)
  if (!membership.success || !membership.data.ControlAvailable) {
    return 'the engine is no manager of a swarm (docker swarm init --advertise-addr)'
  }
  return whyUnreachable(membership.data.NodeAddr)
}

async function findSelf(docker: Docker): Promise<OwnNode> {
  const info: { Swarm?: unknown } = await docker.info()
  const { NodeID, NodeAddr } = Membership.parse(info.Swarm)
  return { nodeId: NodeID, address: NodeAddr }
}

/** Is the engine one of the swarm's managers, and does the swarm answer? @throws what the engine says. */
export async function isManager(engine: Engine): Promise<boolean> {
  const info: { Swarm?: unknown } = await engine.ask((docker) => docker.info())
  const membership = Membership.safeParse(info.Swarm)
  return membership.success && membership.data.ControlAvailable
}

/** A look at the swarm. What a manager without its swarm answers counts as no answer. */
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

/** Null for what is not there, and for what has the name but not our labels. */
export async function findAgentService(deps: SwarmRuntimeParts, id: string): Promise<AgentService | null> {
  const [found] = await look(deps, (docker) => readFound(docker, () => readService(deps, docker, id)))
  return found ?? null
}

/** Every agent of this installation. */
export async function listAgentServices(deps: SwarmRuntimeParts): Promise<AgentService[]> {
  const filters = JSON.stringify({ label: [`${LABELS.instance}=${deps.instance}`, LABELS.agent] })
  return look(deps, (docker) =>
    readFound(docker, async () => SwarmService.array().parse(await docker.listServices({ filters }))),
  )
}

/** All tasks of an agent, also those of a service that somebody has removed and whose process has not ended yet. */
export async function listAgentTasks(deps: SwarmRuntimeParts, id: string): Promise<SwarmTask[]> {
  const tasks = await look(deps, async (docker) => Tasks.parse(await docker.listTasks()))
  return tasks.filter(({ Spec }) => {
    const labels = Spec.ContainerSpec?.Labels ?? {}
    return labels[LABELS.instance] === deps.instance && labels[LABELS.agent] === id
  })
}

/** The machines of the swarm by id. */
export async function listNodes(deps: SwarmRuntimeParts): Promise<Map<string, SwarmNode>> {
  const nodes = await look(deps, async (docker) => Nodes.parse(await docker.listNodes()))
  return new Map(nodes.map((node) => [node.ID, node]))
}

/** Where the platform reaches what runs on a machine; null when the swarm does not say. */
export function toHost(self: OwnNode, nodes: ReadonlyMap<string, SwarmNode>, nodeId: string): string | null {
  if (nodeId === self.nodeId) return self.address
  const node = nodes.get(nodeId)
  return node ? findNodeAddress(node) : null
}

/** Changes what a service is told to be; somebody else's change at the same time comes first. @returns what it is told now. */
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

/** The name of an agent's service, and of the network that it has for itself. */
export function toServiceName(instance: string, agentId: string): string {
  return `stead-${instance}-${agentId}`
}

/** Which start of the agent this is: every one that was asked for has another number. */
export function generationOf({ service, tasks }: AgentService): SwarmTask[] {
  return tasks.filter((task) => task.Spec.ForceUpdate === service.Spec.TaskTemplate.ForceUpdate)
}

/** Ids of the tasks of the agent's last start that are over. One that never got a machine was no attempt. */
export function listEnded(found: AgentService): Set<string> {
  const ended = generationOf(found).filter((task) => hasTaskEnded(task) && task.NodeID !== '')
  return new Set(ended.map((task) => task.ID))
}

/** The container of a task on this machine; null when it has none yet or any more. */
export async function findTaskContainer(
  deps: SwarmRuntimeParts,
  task: SwarmTask,
): Promise<Docker.ContainerInspectInfo | null> {
  const id = task.Status.ContainerStatus?.ContainerID
  if (!id) return null
  return deps.engine.ask((docker, abortSignal) => orNull(docker.getContainer(id).inspect({ abortSignal })))
}

/** Tasks that may still have a process on a machine that answers. */
export function listUnended(tasks: readonly SwarmTask[], nodes: ReadonlyMap<string, SwarmNode>): SwarmTask[] {
  return tasks.filter((task) => mayTaskRun(task) && nodes.get(task.NodeID)?.Status.State === 'ready')
}

/** The running task of the agent's last start. */
export function findCurrent(found: AgentService): SwarmTask | null {
  return findLive(generationOf(found))
}

/**
 * What services are told is read after their tasks: read before alone, a task that ends because it is told to, between the
 * two, would look as if it had ended by itself.
 */
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

/** Asking for the tasks of a service that has just been removed is an error: then all are asked for. */
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

/** The id of the machine whose engine we speak to. */
export function findOwnNode(deps: SwarmRuntimeParts): Promise<string> {
  return look(deps, async (_docker, { nodeId }) => nodeId)
}
