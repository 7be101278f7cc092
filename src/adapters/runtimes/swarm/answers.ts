import { z } from 'zod'

const SwarmTask = z.object({
  ID: z.string(),
  CreatedAt: z.coerce.date(),
  ServiceID: z.string(),
  NodeID: z.string().default(''),
  DesiredState: z.string(),
  Spec: z.object({
    ForceUpdate: z.number().default(0),
    ContainerSpec: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).optional(),
  }),
  Status: z.object({
    State: z.string(),
    Err: z.string().default(''),
    ContainerStatus: z.object({ ContainerID: z.string().default(''), ExitCode: z.number().default(0) }).optional(),
    PortStatus: z.object({ Ports: z.array(z.object({ PublishedPort: z.number().default(0) })).nullish() }).nullish(),
  }),
})
/** One attempt of the swarm to run an agent; each restart is a new task. */
export type SwarmTask = z.infer<typeof SwarmTask>

const SwarmNode = z.object({
  ID: z.string(),
  Spec: z.object({ Availability: z.string(), Labels: z.record(z.string(), z.string()).nullish() }),
  Description: z.object({ Resources: z.object({ NanoCPUs: z.number() }) }),
  Status: z.object({ State: z.string(), Addr: z.string().default('') }),
  ManagerStatus: z.object({ Addr: z.string().default('') }).optional(),
})
/** A node of the swarm. */
export type SwarmNode = z.infer<typeof SwarmNode>

const ServiceSpec = z.looseObject({
  Name: z.string(),
  Labels: z
    .record(z.string(), z.string())
    .nullish()
    .transform((labels) => labels ?? {}),
  TaskTemplate: z.looseObject({
    ContainerSpec: z.looseObject({
      Image: z.string(),
      Mounts: z
        .array(z.looseObject({ Type: z.string(), Source: z.string().optional(), Target: z.string() }))
        .default([]),
      Secrets: z.array(z.looseObject({ SecretID: z.string() })).default([]),
    }),
    Resources: z.looseObject({ Limits: z.looseObject({ MemoryBytes: z.number().default(0) }) }),
    Placement: z.looseObject({ Constraints: z.array(z.string()).nullish() }).default({}),
    ForceUpdate: z.number().default(0),
  }),
  Mode: z.looseObject({ Replicated: z.looseObject({ Replicas: z.number().default(0) }) }),
})
/** A service's spec, with unknown fields kept for updates. */
export type ServiceSpec = z.infer<typeof ServiceSpec>

export const SwarmService = z.object({ ID: z.string(), Version: z.object({ Index: z.number() }), Spec: ServiceSpec })
/** The service of an agent. */
export type SwarmService = z.infer<typeof SwarmService>

export const SwarmCluster = z.object({ ID: z.string() })
/** The swarm part of the engine's info. */
export const SwarmMembership = z.object({ NodeID: z.string(), NodeAddr: z.string(), ControlAvailable: z.boolean() })

/** Parses the engine's tasks, oldest first. @throws ZodError when they do not match Docker's API. */
export const Tasks = z.array(SwarmTask).transform((tasks) => tasks.sort((a, b) => +a.CreatedAt - +b.CreatedAt))
export const Nodes = z.array(SwarmNode)

const LIVE = ['starting', 'running']
const ENDED = ['complete', 'shutdown', 'failed', 'rejected', 'orphaned', 'remove']
const UNWANTED = ['shutdown', 'remove']
const NO_ADDRESS = ['', '0.0.0.0', '::']

/** Returns the task with a live process, as far as its node has reported. */
export function findLive(tasks: readonly SwarmTask[]): SwarmTask | null {
  return tasks.findLast((task) => !hasTaskEnded(task) && wasTaskStarted(task)) ?? null
}

/** Returns whether the task's process was started and has not been reported ended. */
export function wasTaskStarted(task: SwarmTask): boolean {
  return LIVE.includes(task.Status.State)
}

/** Returns whether the task has ended or Swarm wants it stopped, for example because its node is lost. */
export function hasTaskEnded(task: SwarmTask): boolean {
  return ENDED.includes(task.Status.State) || UNWANTED.includes(task.DesiredState)
}

/** Returns whether the task's process may still exist. */
export function mayTaskRun(task: SwarmTask): boolean {
  return task.NodeID !== '' && !ENDED.includes(task.Status.State)
}

/** Returns the exit code of the task's process; null when it never started or was lost with its node. */
export function findExitCode(task: SwarmTask): number | null {
  const { State, Err, ContainerStatus } = task.Status
  if (State === 'complete') return 0
  const ran = State === 'failed' && /non-zero exit|unhealthy container/.test(Err)
  return ran && ContainerStatus ? ContainerStatus.ExitCode : null
}

/** Returns whether the node can run agents now. */
export function isUsable(node: SwarmNode): boolean {
  return node.Status.State === 'ready' && node.Spec.Availability === 'active'
}

/** Returns whether the operator lets agents run on the node (`stead.agents=false` excludes it). */
export function mayRunAgents(node: SwarmNode): boolean {
  return isUsable(node) && node.Spec.Labels?.['stead.agents'] !== 'false'
}

/** Returns the address of a node, null when unknown. */
export function findNodeAddress(node: SwarmNode): string | null {
  // A manager may know itself only by a wildcard address.
  const candidates = [node.Status.Addr, node.ManagerStatus?.Addr.replace(/:\d+$/, '') ?? '']
  return candidates.find((address) => !NO_ADDRESS.includes(address)) ?? null
}
