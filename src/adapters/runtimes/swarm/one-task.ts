import type Docker from 'dockerode'
import { PROFILE } from '../engine/container.ts'
import { LABELS, orNull } from '../engine/engine.ts'
import { PROGRAM } from '../engine/files.ts'
import { hasTaskEnded, Tasks } from './answers.ts'
import { look, type SwarmRuntimeParts, toServiceName } from './cluster.ts'

const LOOK_AGAIN_MS = 200
const MAX_WAIT_MS = 30_000

/** A task of the program of an agent's image with a volume, restricted as agents are. */
type OneTask = {
  /** Added to the name of the agent's service. */
  purpose: string
  agentId: string
  image: string
  command: readonly string[]
  env?: readonly string[]
  user: string
  mounts: object[]
  capabilities?: string[]
  constraints: readonly string[]
  network?: string
  /** Published on the node, at a port that its engine chooses. */
  port?: number
}

export type OneTaskService = Docker.CreateServiceOptions & { Name: string }

/** Builds a service that runs one task with files of an agent. */
export function toOneTaskService({ instance }: SwarmRuntimeParts, task: OneTask): OneTaskService {
  const service = {
    // Agents' ids contain no underscore.
    Name: `${toServiceName(instance, task.agentId)}_${task.purpose}`,
    Labels: { [LABELS.instance]: instance, [LABELS.files]: task.agentId },
    TaskTemplate: {
      ContainerSpec: {
        Image: task.image,
        Command: [PROGRAM, 'agent', ...task.command],
        Env: ['HOME=/tmp', ...(task.env ?? [])],
        User: task.user,
        Init: PROFILE.Init,
        ReadOnly: PROFILE.ReadonlyRootfs,
        CapabilityDrop: PROFILE.CapDrop,
        ...(task.capabilities && { CapabilityAdd: task.capabilities }),
        Privileges: { NoNewPrivileges: true },
        Healthcheck: { Test: ['NONE'] },
        Mounts: task.mounts,
      },
      RestartPolicy: { Condition: 'none' },
      Placement: { Constraints: [...task.constraints] },
      ...(task.network !== undefined && { Networks: [{ Target: task.network }] }),
    },
    Mode: { Replicated: { Replicas: 1 } },
    ...(task.port !== undefined && {
      EndpointSpec: { Mode: 'dnsrr', Ports: [{ Protocol: 'tcp', TargetPort: task.port, PublishMode: 'host' }] },
    }),
  }
  // dockerode's types lack fields that Docker accepts.
  return service as OneTaskService
}

/** Runs a service of one task to its end, and removes it. @returns why it did not succeed; null when it did. */
export async function runOnce(deps: SwarmRuntimeParts, order: OneTaskService): Promise<string | null> {
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
