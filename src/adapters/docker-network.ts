import { AppError } from '../core/errors.ts'
import { type Engine, LABELS, orNull } from './engine.ts'
import { TaskQueue } from './process-queue.ts'

/** The network of this installation's agents: they reach the world and the platform's gateway, and not each other. */
export type DockerNetwork = {
  name: string
  /** Makes it when it is not there. @returns the address that this machine has in it. */
  open(): Promise<string>
}

/** @throws AppError from `open`: `conflict` when another network has the name. */
export function createDockerNetwork(engine: Engine, instance: string): DockerNetwork {
  const name = `stead-${instance}`
  // The engine makes two of one name when it is asked twice at once.
  const queue = new TaskQueue()

  const find = () => engine.ask((docker) => orNull(docker.getNetwork(name).inspect()))
  const create = () =>
    engine.change((docker, abortSignal) =>
      docker.createNetwork({
        Name: name,
        Driver: 'bridge',
        CheckDuplicate: true,
        EnableIPv6: false,
        Options: { 'com.docker.network.bridge.enable_icc': 'false' },
        Labels: { [LABELS.instance]: instance },
        abortSignal,
      }),
    )

  return {
    name,
    open: () =>
      queue.run(async () => {
        if (!(await find())) await create()
        const network = await find()
        if (network?.Labels?.[LABELS.instance] !== instance) {
          throw new AppError('conflict', `A network named ${name} exists that is not this installation's`)
        }
        const address: unknown = network.IPAM?.Config?.[0]?.Gateway
        if (typeof address !== 'string') throw new AppError('internal', `The network ${name} has no gateway`)
        return address
      }),
  }
}
