import { join } from 'node:path'
import { buildAgentImage } from '../../harness/engines/built-image.ts'
import { canStartSwarm, startSwarm } from '../../harness/engines/swarm.ts'
import { startBalancer } from '../../harness/machines/balancer.ts'
import { addMachine, type Hub, type Machine } from '../../harness/machines/network.ts'
import { startPatroni, whyNoPatroni } from '../../harness/machines/patroni.ts'
import { openInstallation, STEAD } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { ENCRYPTION_KEY, type TestNode } from '../../integration/cluster/nodes.ts'

const NODES = [21, 22]
const DATABASES = 31
const BALANCER = 41

/** A node on its own machine. */
export type MachineNode = TestNode & { machine: Machine }

/** Returns why the machines cannot be started here, or null. */
export function whyNoMachines(): string | null {
  return whyNoPatroni() ?? (canStartSwarm() ? null : 'no swarm can be started here')
}

/** Starts two engines in one swarm, three PostgreSQL servers under Patroni and haproxy, and opens two nodes. */
export async function openMachines(toEnvironment: (hub: Hub) => Promise<Record<string, string>>) {
  await using stack = new AsyncDisposableStack()
  const swarm = stack.use(await startSwarm(2))
  const { hub } = swarm
  await buildAgentImage(swarm.manager.dockerHost)
  const image = await swarm.manager.docker.getImage('stead-agent:under-test').get()
  for (const { docker } of swarm.nodes.slice(1)) await docker.loadImage(image)
  const databases = stack.use(await startPatroni(hub, DATABASES))
  const machines = NODES.map((index) => addMachine(hub, index))
  stack.defer(() => {
    for (const machine of machines) machine.remove()
  })
  const balancer = stack.use(
    await startBalancer(
      hub,
      BALANCER,
      machines.map(({ address }) => address),
    ),
  )
  const objects = stack.use(tempFolder())
  const environment = {
    ...(await toEnvironment(hub)),
    CLUSTER_LOG_URL: databases.urls,
    CLUSTER_AGENTS_URL: balancer.backend,
    OBJECTS_URL: `file:${objects.path}`,
    DOCKER_HOST: swarm.manager.dockerHost,
    TRUSTED_PROXIES: `${hub.prefix}.0/24`,
  }
  const nodes: MachineNode[] = []
  for (const [index, machine] of machines.entries()) {
    nodes.push(stack.use(await openMachineNode(machine, `node${index + 1}`, environment)))
  }
  const opened = stack.move()
  return {
    swarm,
    databases,
    balancer,
    nodes,
    objectsFolder: objects.path,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

export type Machines = Awaited<ReturnType<typeof openMachines>>

async function openMachineNode(
  machine: Machine,
  id: string,
  environment: Record<string, string>,
): Promise<MachineNode> {
  const backend = `http://${machine.address}:3001`
  const installation = await openInstallation({
    isEmpty: true,
    command: [machine.enter[0] ?? '', ...machine.enter.slice(1), ...STEAD],
    environment: {
      ...{ HOST: machine.address, WEB_PORT: '3000', BACKEND_PORT: '3001', SUMMARIZER_PORT: '3002' },
      ...{ CLUSTER_NODE_URL: backend, CLUSTER_NODE_ID: id, CLUSTER_CHECK_MINUTES: '0.25' },
      ...{ AGENT_RUNTIME: 'swarm', AGENT_IMAGE: 'stead-agent:under-test', AGENT_SLEEP_MINUTES: '0' },
      ...{ AGENT_SNAPSHOT_MINUTES: '0.25', ENCRYPTION_KEY, LOG_FORMAT: 'json' },
      ...environment,
    },
  })
  return { ...installation, machine, id, backend, web: `http://${machine.address}:3000` }
}

/** Blocks the network between a machine and others until the returned function is called. */
export function cutFrom({ enter }: Machine, others: readonly Machine[]): () => void {
  const nft = (...args: string[]) => {
    const { success, stderr } = Bun.spawnSync([...enter, 'nft', ...args])
    if (!success) throw new Error(`nft: ${stderr}`)
  }
  const addresses = `{ ${others.map(({ address }) => address).join(', ')} }`
  nft(`table inet cut { chain in { type filter hook input priority 0; ip saddr ${addresses} drop; };
    chain out { type filter hook output priority 0; ip daddr ${addresses} drop; }; }`)
  return () => nft('delete', 'table', 'inet', 'cut')
}

export const toDatabaseFile = ({ dataDir }: TestNode) => join(dataDir, 'stead.db')
