import { AppError } from '../../../core/errors.ts'
import type { AgentDriver } from '../contract/agent-image.ts'
import { findFilesImage } from '../engine/files.ts'
import type { SwarmRuntimeParts } from './cluster.ts'
import { runOnce, toOneTaskService } from './one-task.ts'
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
  const order = toOneTaskService(deps, {
    purpose: 'folder',
    agentId,
    image,
    command: ['--make-folder', `${PARENT_AT}/${volume}`],
    user: driver.user,
    mounts: [
      {
        ...{ Type: 'volume', Source: `stead-${deps.instance}_shared`, Target: PARENT_AT },
        VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: name, Options } },
      },
    ],
    constraints: CONSTRAINTS,
  })
  const failure = await runOnce(deps, order)
  if (failure === null) return
  throw new AppError('unavailable', `SWARM_VOLUME_OPTIONS: no folder can be made at ${Options.device} (${failure})`)
}
