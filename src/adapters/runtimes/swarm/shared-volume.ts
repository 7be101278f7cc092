import type Docker from 'dockerode'
import { AppError } from '../../../core/errors.ts'
import type { AgentDriver } from '../contract/agent-image.ts'
import { PROFILE } from '../engine/container.ts'
import { LABELS } from '../engine/engine.ts'
import { findFilesImage, PROGRAM } from '../engine/files.ts'
import { type SwarmRuntimeParts, toServiceName } from './cluster.ts'
import { runOnce } from './one-task.ts'
import { CONSTRAINTS } from './spec.ts'

const PARENT_AT = '/data'
const PLACE = '/{volume}'

/**
 * Creates the folder of a volume on a file server: engines mount folders with the driver `local`, and create none. Other
 * drivers create their volumes themselves.
 * @throws AppError `unavailable` when the folder cannot be created.
 */
export async function makeSharedFolder(
  deps: SwarmRuntimeParts,
  { agentId, volume, driver }: { agentId: string; volume: string; driver: AgentDriver },
): Promise<void> {
  const { name, options } = deps.volumeDriver ?? { name: '', options: {} }
  const { device = '' } = options
  if (name !== 'local' || !device.endsWith(PLACE)) return
  const image = await findFilesImage(deps)
  if (image === null) {
    const text = `Folders on a file server need the image ${deps.filesImages.at(-1)}: stead agent-image makes it`
    throw new AppError('unavailable', text, { code: 'NOT_CONFIGURED' })
  }
  const Options = { ...options, device: device.slice(0, -PLACE.length) || '/' }
  const order = {
    // Agents' ids contain no underscore.
    Name: `${toServiceName(deps.instance, agentId)}_folder`,
    Labels: { [LABELS.instance]: deps.instance, [LABELS.files]: agentId },
    TaskTemplate: {
      ContainerSpec: {
        Image: image,
        Command: [PROGRAM, 'agent', '--make-folder', `${PARENT_AT}/${volume}`],
        Env: ['HOME=/tmp'],
        User: driver.user,
        Init: PROFILE.Init,
        ReadOnly: PROFILE.ReadonlyRootfs,
        CapabilityDrop: PROFILE.CapDrop,
        Healthcheck: { Test: ['NONE'] },
        Mounts: [
          {
            ...{ Type: 'volume', Source: `stead-${deps.instance}_shared`, Target: PARENT_AT },
            VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: name, Options } },
          },
        ],
      },
      RestartPolicy: { Condition: 'none' },
      Placement: { Constraints: [...CONSTRAINTS] },
    },
    Mode: { Replicated: { Replicas: 1 } },
  }
  const failure = await runOnce(deps, order as Docker.CreateServiceOptions & { Name: string })
  if (failure === null) return
  throw new AppError('unavailable', `SWARM_VOLUME_OPTIONS: no folder can be made at ${Options.device} (${failure})`)
}
