import { TaskQueue } from '../../../core/concurrency/keyed-queue.ts'
import { AppError } from '../../../core/errors.ts'
import { type Engine, hasStatus, LABELS, orNull } from '../engine/engine.ts'

/** The network of this installation's agents: they reach the world and the platform's gateway, and not each other. */
export type DockerNetwork = {
  name: string
  /** Makes it when it is not there. @returns the address that this machine has in it. */
  openNetwork(): Promise<string>
  /** Does `work` on a network that is there and stays there meanwhile. */
  withOpen<T>(work: () => Promise<T>): Promise<T>
  /** Takes it away once no container of this installation is left, running or not; the next `open` makes it again. */
  removeUnused(): Promise<void>
}

/** @throws AppError from `open`: `conflict` when another network has the name. */
export function createDockerNetwork(engine: Engine, instance: string): DockerNetwork {
  const name = `stead-${instance}`
  const label = `${LABELS.instance}=${instance}`
  // The engine makes two of one name when it is asked twice at once.
  const queue = new TaskQueue()
  let users = 0

  /** What it had last: the platform listens at its address, and a firewall may know it. */
  let range: { Subnet: string; Gateway: string } | null = null

  const find = () => engine.ask((docker) => orNull(docker.getNetwork(name).inspect()))
  const create = (wanted: typeof range) =>
    engine.change((docker, abortSignal) =>
      docker.createNetwork({
        Name: name,
        Driver: 'bridge',
        CheckDuplicate: true,
        EnableIPv6: false,
        ...(wanted && { IPAM: { Config: [wanted] } }),
        Options: { 'com.docker.network.bridge.enable_icc': 'false' },
        Labels: { [LABELS.instance]: instance },
        abortSignal,
      }),
    )
  const createAnew = async () => {
    try {
      await create(range)
    } catch (error) {
      // Somebody else has the addresses by now.
      if (range === null || !hasStatus(error, 403)) throw error
      await create(null)
    }
  }
  const findOrCreate = async (): Promise<string> => {
    if (!(await find())) await createAnew()
    const network = await find()
    if (network?.Labels?.[LABELS.instance] !== instance) {
      throw new AppError('conflict', `A network named ${name} exists that is not this installation's`)
    }
    const { Gateway, Subnet } = network.IPAM?.Config?.[0] ?? {}
    if (!Gateway) throw new AppError('internal', `The network ${name} has no gateway`)
    range = Subnet ? { Subnet, Gateway } : null
    return Gateway
  }
  const hasContainers = async () => {
    const filters = { label: [label] }
    const found = await engine.ask((docker, abortSignal) => docker.listContainers({ all: true, filters, abortSignal }))
    return found.length > 0
  }

  return {
    name,
    openNetwork: () => queue.run(findOrCreate),
    async withOpen(work) {
      await queue.run(async () => {
        await findOrCreate()
        users += 1
      })
      try {
        return await work()
      } finally {
        users -= 1
      }
    },
    removeUnused: () =>
      queue.run(async () => {
        if (users > 0 || (await hasContainers())) return
        const network = await find()
        if (network?.Labels?.[LABELS.instance] !== instance) return
        await engine
          .change((docker, abortSignal) => docker.getNetwork(network.Id).remove({ abortSignal }))
          .catch((error: unknown) => {
            // It has gone, or somebody has put a container of their own into it.
            if (!hasStatus(error, 403, 404, 409)) throw error
          })
      }),
  }
}
