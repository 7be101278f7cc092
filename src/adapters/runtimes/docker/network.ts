import { TaskQueue } from '../../../core/concurrency/keyed-queue.ts'
import { AppError } from '../../../core/errors.ts'
import { type Engine, hasStatus, LABELS, orNull } from '../engine/engine.ts'

/**
 * The network of this installation's agents. It has no route out: they reach the addresses of this machine in it, where
 * the platform and its egress proxy listen, but neither other networks nor each other.
 */
export type DockerNetwork = {
  name: string
  /** Name of the network interface of this machine, for firewall rules. */
  interfaceName: string
  /** Creates the network if needed. @returns the address of this machine in it. */
  openNetwork(): Promise<string>
  /** Runs `work` while the network exists. */
  withOpen<T>(work: () => Promise<T>): Promise<T>
  /** Removes the network when no container of this installation is left; the next `openNetwork` creates it again. */
  removeUnused(): Promise<void>
}

/** @throws AppError from `openNetwork`: `conflict` when another network has the name. */
export function createDockerNetwork(engine: Engine, instance: string): DockerNetwork {
  const name = `stead-${instance}-internal`
  // At most 15 characters (Linux, IFNAMSIZ).
  const interfaceName = `st-${instance.slice(0, 12)}`
  const label = `${LABELS.instance}=${instance}`
  // Two concurrent requests would create two networks of one name.
  const queue = new TaskQueue()
  let users = 0

  /** The last address range: the platform listens in it, and a firewall may allow it. */
  let range: Range | null = null

  const find = () => engine.ask((docker) => orNull(docker.getNetwork(name).inspect()))
  const create = (wanted: Range | null) =>
    engine.change((docker, abortSignal) =>
      docker.createNetwork({ ...toOptions({ name, interfaceName, instance }), ...toAddresses(wanted), abortSignal }),
    )
  const createAnew = async () => {
    try {
      await create(range)
    } catch (error) {
      // Another network occupies the range by now.
      if (range === null || !hasStatus(error, 403)) throw error
      await create(null)
    }
  }
  const findOrCreate = async (): Promise<string> => {
    if (!(await find())) await createAnew()
    const network = await find()
    if (network?.Labels?.[LABELS.instance] !== instance || !network.Internal) {
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
    interfaceName,
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
            // The network was removed, or a foreign container uses it.
            if (!hasStatus(error, 403, 404, 409)) throw error
          })
      }),
  }
}

type Range = { Subnet: string; Gateway: string }

function toAddresses(range: Range | null) {
  return range ? { IPAM: { Config: [range] } } : {}
}

/** Options of a network without a route out, whose containers do not see each other. */
function toOptions({ name, interfaceName, instance }: { name: string; interfaceName: string; instance: string }) {
  return {
    Name: name,
    Driver: 'bridge',
    CheckDuplicate: true,
    EnableIPv6: false,
    Internal: true,
    Options: {
      'com.docker.network.bridge.enable_icc': 'false',
      'com.docker.network.bridge.name': interfaceName,
    },
    Labels: { [LABELS.instance]: instance },
  }
}
