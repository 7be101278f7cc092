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
  }),
})
/** One attempt of the swarm to run an agent. A task never starts twice: each restart is a new one. */
export type SwarmTask = z.infer<typeof SwarmTask>

const SwarmNode = z.object({
  ID: z.string(),
  Spec: z.object({ Availability: z.string() }),
  Description: z.object({ Resources: z.object({ NanoCPUs: z.number() }) }),
  Status: z.object({ State: z.string(), Addr: z.string().default('') }),
  ManagerStatus: z.object({ Addr: z.string().default('') }).optional(),
})
/** A machine of the swarm. */
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
/** What a service is told to be, with all that is sent back unread when it is changed. */
export type ServiceSpec = z.infer<typeof ServiceSpec>

export const SwarmService = z.object({ ID: z.string(), Version: z.object({ Index: z.number() }), Spec: ServiceSpec })
/** An agent, as the swarm keeps it. */
export type SwarmService = z.infer<typeof SwarmService>

export const Cluster = z.object({ ID: z.string() })
/** The swarm's part of what an engine says of itself. */
export const Membership = z.object({ NodeID: z.string(), NodeAddr: z.string(), ControlAvailable: z.boolean() })

/** The engine's answers, oldest task first. @throws ZodError when they are not what Docker's API promises. */
export const Tasks = z.array(SwarmTask).transform((tasks) => tasks.sort((a, b) => +a.CreatedAt - +b.CreatedAt))
export const Nodes = z.array(SwarmNode)

const LIVE = ['starting', 'running']
const ENDED = ['complete', 'shutdown', 'failed', 'rejected', 'orphaned', 'remove']
const UNWANTED = ['shutdown', 'remove']
const NO_ADDRESS = ['', '0.0.0.0', '::']

/** The task whose process is there, as far as its machine has told. */
export function findLive(tasks: readonly SwarmTask[]): SwarmTask | null {
  return tasks.findLast((task) => !hasTaskEnded(task) && wasTaskStarted(task)) ?? null
}

/** It was started and has not ended yet, as far as its machine has told, whatever is wanted of it. */
export function wasTaskStarted(task: SwarmTask): boolean {
  return LIVE.includes(task.Status.State)
}

/** It is over, or its machine is lost and the swarm has given it up. */
export function hasTaskEnded(task: SwarmTask): boolean {
  return ENDED.includes(task.Status.State) || UNWANTED.includes(task.DesiredState)
}

/** Its process may still be there: it is not over, whatever is wanted. */
export function mayTaskRun(task: SwarmTask): boolean {
  return task.NodeID !== '' && !ENDED.includes(task.Status.State)
}

/** Its process ran and ended; null when it was never started, or lost with its machine. */
export function findExitCode(task: SwarmTask): number | null {
  const { State, Err, ContainerStatus } = task.Status
  if (State === 'complete') return 0
  const ran = State === 'failed' && /non-zero exit|unhealthy container/.test(Err)
  return ran && ContainerStatus ? ContainerStatus.ExitCode : null
}

/** Can it run agents now? */
export function isUsable(node: SwarmNode): boolean {
  return node.Status.State === 'ready' && node.Spec.Availability === 'active'
}

/** Where a machine is reached, or null when the swarm does not say. */
export function findNodeAddress(node: SwarmNode): string | null {
  // A manager may know itself by a wildcard only.
  const candidates = [node.Status.Addr, node.ManagerStatus?.Addr.replace(/:\d+$/, '') ?? '']
  return candidates.find((address) => !NO_ADDRESS.includes(address)) ?? null
}
