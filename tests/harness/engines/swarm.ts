import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Docker from 'dockerode'
import { addMachine, canAddMachines, type Hub, type Machine, openHub } from '../machines/network.ts'
import { until } from '../until.ts'
import { canStartEngines, FEWER_COLLECTIONS } from './engine.ts'

/**
 * A node of the test swarm: an engine in its own network namespace. `address` is reachable from the test and other
 * nodes; `docker` is a client of its engine and `dockerHost` its `DOCKER_HOST`.
 */
export type SwarmNode = {
  name: string
  address: string
  dockerHost: string
  docker: Docker
  /** Runs a command in the node's network. */
  spawn(
    command: string[],
    environment?: Record<string, string | undefined>,
  ): Bun.Subprocess<'ignore', 'pipe', 'inherit'>
  /** Sends a signal to the engine only. */
  signal(signal: NodeJS.Signals): Promise<void>
  /** Removes the machine's network. */
  remove: Machine['remove']
  /** Kills the engine, its containers and spawned commands at once, like a power failure. */
  kill(): Promise<void>
}

const TOOLS = ['dockerd', 'ip', 'nsenter', 'unshare']

/** Returns whether this machine can run a test swarm; logs a warning if not. */
export function canStartSwarm(): boolean {
  const reason = findObstacle()
  if (reason !== null) console.warn(`Swarm tests are skipped: ${reason}.`)
  return reason === null
}

function findObstacle(): string | null {
  const missing = TOOLS.filter((tool) => Bun.which(tool) === null)
  if (missing.length > 0) return `no ${missing.join(', ')} here`
  if (process.getuid?.() !== 0) return 'a Docker engine of its own needs root'
  if (!canStartEngines()) return 'no static busybox here (scripts/test-peers)'
  return canAddMachines() ? null : 'network namespaces are not allowed here'
}

/**
 * Starts a swarm of `count` engines, each with its own folder and machine on one network. The first node is the only
 * manager. Disposing of the swarm closes the network, `hub`.
 */
export async function startSwarm(count: number) {
  const dir = await mkdtemp(join(tmpdir(), 'stead-swarm-'))
  const hub = openHub()
  const nodes: SwarmNode[] = []
  try {
    for (let index = 1; index <= count; index += 1) nodes.push(await startNode(hub, dir, index))
    await joinAll(nodes)
  } catch (error) {
    await dispose(hub, dir, nodes)
    throw error
  }
  const [first] = nodes
  if (!first) throw new Error('A swarm needs a node')
  const { hostAddress } = hub
  return { nodes, manager: first, hub, hostAddress, [Symbol.asyncDispose]: () => dispose(hub, dir, nodes) }
}

/** Starts a single node with the engine's firewall rules, reachable at its `address` like another machine. */
export async function startMachine(): Promise<SwarmNode & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), 'stead-machine-'))
  const hub = openHub()
  const nodes: SwarmNode[] = []
  const end = () => dispose(hub, dir, nodes)
  try {
    const node = await startNode(hub, dir, 1)
    nodes.push(node)
    return { ...node, [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

async function startNode(hub: Hub, dir: string, index: number): Promise<SwarmNode> {
  const machine = addMachine(hub, index)
  const { name, address, enter: inNetwork } = machine
  const folder = join(dir, name)
  await mkdir(folder)
  const dockerHost = `unix://${join(folder, 'docker.sock')}`
  // In its own process and mount namespaces, so that no container or mount outlives it.
  const asMachine = ['unshare', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child=KILL', '--']
  const engine = Bun.spawn(
    [
      ...[...inNetwork, ...asMachine, 'dockerd', '--host', dockerHost, '--pidfile', join(folder, 'pid')],
      ...['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec'), '--cgroup-parent', `/${name}`],
    ],
    {
      stdio: ['ignore', Bun.file(join(folder, 'log')), Bun.file(join(folder, 'errors'))],
      env: { ...process.env, ...FEWER_COLLECTIONS },
    },
  )
  let isWanted = true
  engine.exited.then(async () => {
    const errors = isWanted ? await Bun.file(join(folder, 'errors')).text() : ''
    if (isWanted) console.warn(`The engine ${name} ended by itself:\n${errors.split('\n').slice(-60).join('\n')}`)
  })
  const docker = new Docker({ socketPath: join(folder, 'docker.sock') })
  const answers = async () => {
    if (engine.exitCode !== null) throw new Error(`dockerd ended: ${await Bun.file(join(folder, 'errors')).text()}`)
    return docker.ping().then(Boolean, () => false)
  }
  const spawned = new Set<ReturnType<SwarmNode['spawn']>>()
  const node: SwarmNode = {
    name,
    address,
    dockerHost,
    docker,
    remove: machine.remove,
    spawn(command, environment) {
      const child = Bun.spawn([...inNetwork, ...command], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: environment ?? process.env,
      })
      spawned.add(child)
      return child
    },
    async signal(signal) {
      const [pid] = (await Bun.file(`/proc/${engine.pid}/task/${engine.pid}/children`).text()).trim().split(' ')
      process.kill(Number(pid), signal)
    },
    async kill() {
      isWanted = false
      for (const child of [...spawned, engine]) child.kill('SIGKILL')
      await Promise.all([...spawned, engine].map((child) => child.exited))
    },
  }
  try {
    await until(`the engine ${name} answers`, answers)
    return node
  } catch (error) {
    await node.kill()
    throw error
  }
}

async function joinAll([manager, ...workers]: SwarmNode[]): Promise<void> {
  if (!manager) return
  // Three missed heartbeats mark a node as down: fast, but not on a short delay.
  await manager.docker.swarmInit({
    ListenAddr: `${manager.address}:2377`,
    AdvertiseAddr: manager.address,
    Spec: { Dispatcher: { HeartbeatPeriod: 5_000_000_000 } },
  })
  const { JoinTokens } = await manager.docker.swarmInspect()
  for (const { docker, address } of workers) {
    await docker.swarmJoin({
      ListenAddr: `${address}:2377`,
      AdvertiseAddr: address,
      RemoteAddrs: [`${manager.address}:2377`],
      JoinToken: JoinTokens.Worker,
    })
  }
  const ready = async () => {
    const nodes: { Status: { State: string } }[] = await manager.docker.listNodes()
    return nodes.filter(({ Status }) => Status.State === 'ready').length === workers.length + 1
  }
  await until('all machines are in the swarm', ready)
}

/** Allows or forbids the scheduler of the swarm to use a machine. */
export async function setAvailability(
  manager: SwarmNode,
  node: SwarmNode,
  Availability: 'active' | 'drain',
): Promise<void> {
  const { Swarm } = await node.docker.info()
  const found = manager.docker.getNode(Swarm.NodeID)
  // Docker changes the node's version concurrently.
  await until('the update of the node', async () => {
    const { Version, Spec } = await found.inspect()
    return found.update({ _query: { version: Version.Index }, _body: { ...Spec, Availability } }).then(
      () => true,
      (error: Error) => (/out of sequence/.test(error.message) ? false : Promise.reject(error)),
    )
  })
}

async function dispose(hub: Disposable, dir: string, nodes: SwarmNode[]): Promise<void> {
  for (const { name, kill, remove } of nodes) {
    await kill()
    remove()
    await removeGroups(name)
  }
  hub[Symbol.dispose]()
  await rm(dir, { recursive: true, force: true })
}

/** Removes the node's control groups, innermost first: they outlive their processes and only rmdir removes them. */
async function removeGroups(name: string): Promise<void> {
  const found = Bun.spawnSync(['find', '/sys/fs/cgroup', '-depth', '-type', 'd', '-path', `*/${name}*`, '-delete'])
  if (found.exitCode === null) throw new Error('find did not run')
}
