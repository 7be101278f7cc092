import type Docker from 'dockerode'
import { PROFILE } from '../engine/container.ts'
import { LABELS, orNull } from '../engine/engine.ts'
import { findFilesImage, PROGRAM } from '../engine/files.ts'
import { hasEnded, type Service, Tasks } from './answers.ts'
import { listNodes, look, type SwarmDeps, toServiceName } from './cluster.ts'
import { driverOf, getVolume } from './files.ts'

const ERASED_AT = '/data'
const LOOK_AGAIN_MS = 200
const MAX_WAIT_MS = 30_000

/**
 * Empties a volume on another machine of the swarm, whose engine cannot be asked from here: a service of one task does it
 * there, from the image that serves files, as the agent's own user. The empty volume stays.
 * @returns false when that machine is away, has not got the image, or does not come to an end in time.
 */
export async function eraseElsewhere(
  deps: SwarmDeps,
  agentId: string,
  service: Service,
  nodeId: string,
): Promise<boolean> {
  const image = await findFilesImage(deps)
  const node = (await listNodes(deps)).get(nodeId)
  if (image === null || node?.Status.State !== 'ready') return false
  // No agent's id has an underscore.
  const name = `${toServiceName(deps.instance, agentId)}_erase`
  await removeService(deps, name)
  const order = toOrder(deps, { name, agentId, service, nodeId, image })
  await deps.engine.change((docker) => docker.createService(order))
  try {
    return await hasSucceeded(deps, name)
  } finally {
    await removeService(deps, name)
  }
}

type Erasure = { name: string; agentId: string; service: Service; nodeId: string; image: string }

function toOrder(deps: SwarmDeps, { name, agentId, service, nodeId, image }: Erasure): Docker.CreateServiceOptions {
  const driver = driverOf(deps, service)
  return {
    Name: name,
    Labels: { [LABELS.instance]: deps.instance, [LABELS.files]: agentId },
    TaskTemplate: {
      ContainerSpec: {
        Image: image,
        Command: [PROGRAM, 'agent', '--erase', ERASED_AT],
        Env: ['HOME=/tmp'],
        User: driver.user,
        Init: PROFILE.Init,
        ReadOnly: PROFILE.ReadonlyRootfs,
        CapabilityDrop: PROFILE.CapDrop,
        Healthcheck: { Test: ['NONE'] },
        Mounts: [{ Type: 'volume', Source: getVolume(deps, service), Target: ERASED_AT }],
      },
      RestartPolicy: { Condition: 'none' },
      Placement: { Constraints: [`node.id==${nodeId}`] },
    },
    Mode: { Replicated: { Replicas: 1 } },
  } as Docker.CreateServiceOptions
}

async function hasSucceeded(deps: SwarmDeps, name: string): Promise<boolean> {
  const filters = JSON.stringify({ service: [name] })
  for (const deadline = performance.now() + MAX_WAIT_MS; performance.now() < deadline; await Bun.sleep(LOOK_AGAIN_MS)) {
    const [task] = await look(deps, async (docker) => Tasks.parse(await docker.listTasks({ filters })))
    if (task && hasEnded(task)) return task.Status.State === 'complete'
  }
  return false
}

async function removeService(deps: SwarmDeps, name: string): Promise<void> {
  await deps.engine.change((docker, abortSignal) => orNull(docker.getService(name).remove({ abortSignal })))
}
