import { networkInterfaces } from 'node:os'

/** A bridge in its own namespace, out of reach of the firewall rules of this machine's engine. */
export type Hub = { name: string; prefix: string; hostAddress: string }

/** A network namespace with an address on the bridge, which represents a machine. */
export type Machine = {
  name: string
  address: string
  /** Prefix of commands that run in the machine's network. */
  enter: readonly string[]
  /** Sends SIGKILL to all processes of the machine. */
  kill(): Promise<void>
  remove(): void
}

/** Opens the network of this test process, which the machines and this process share. */
export function openHub(): Hub & Disposable {
  const name = `sth${process.pid}`
  const prefix = findFreePrefix()
  const hostAddress = `${prefix}.1`
  runCommand('ip', 'netns', 'add', name)
  runCommand('ip', '-n', name, 'link', 'add', 'hub', 'type', 'bridge')
  runCommand('ip', '-n', name, 'link', 'set', 'hub', 'up')
  runCommand('ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'host', 'netns', name)
  runCommand('ip', '-n', name, 'link', 'set', 'host', 'master', 'hub', 'up')
  runCommand('ip', 'addr', 'add', `${hostAddress}/24`, 'dev', name)
  runCommand('ip', 'link', 'set', name, 'up')
  const close = () => {
    runCommand('ip', 'link', 'del', name)
    runCommand('ip', 'netns', 'del', name)
  }
  return { name, prefix, hostAddress, [Symbol.dispose]: close }
}

/** Adds the machine number `index`, from 1 to 200, to the network. */
export function addMachine(hub: Hub, index: number): Machine {
  const name = `stn${process.pid}x${index}`
  const address = `${hub.prefix}.${10 + index}`
  runCommand('ip', 'netns', 'add', name)
  runCommand('ip', '-n', hub.name, 'link', 'add', `node${index}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
  runCommand('ip', '-n', hub.name, 'link', 'set', `node${index}`, 'master', 'hub', 'up')
  runCommand('ip', '-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0')
  runCommand('ip', '-n', name, 'link', 'set', 'eth0', 'up')
  runCommand('ip', '-n', name, 'link', 'set', 'lo', 'up')
  return {
    name,
    address,
    enter: ['nsenter', `--net=/run/netns/${name}`],
    async kill() {
      // A process may start another one between the listing and the signal.
      for (let pids = listProcesses(name); pids.length > 0; pids = listProcesses(name)) {
        for (const pid of pids) endProcess(pid)
        await Bun.sleep(5)
      }
    },
    remove: () => runCommand('ip', 'netns', 'del', name),
  }
}

/** Returns whether this process may add network namespaces. */
export function canAddMachines(): boolean {
  const probe = `stp${process.pid}`
  const added = Bun.spawnSync(['ip', 'netns', 'add', probe])
  if (added.success) runCommand('ip', 'netns', 'del', probe)
  return added.success
}

/** @throws Error with the output of a command that fails. */
export function runCommand(...command: string[]): void {
  const { success, stderr } = Bun.spawnSync(command)
  if (!success) throw new Error(`${command.join(' ')}: ${stderr}`)
}

function listProcesses(name: string): number[] {
  const { stdout } = Bun.spawnSync(['ip', 'netns', 'pids', name])
  return stdout.toString().trim().split('\n').filter(Boolean).map(Number)
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

function findFreePrefix(): string {
  const used = new Set(
    Object.values(networkInterfaces()).flatMap((list) =>
      (list ?? []).map(({ address }) => address.split('.').slice(0, 3).join('.')),
    ),
  )
  for (let offset = 0; offset < 250; offset += 1) {
    const prefix = `10.250.${1 + ((process.pid + offset) % 250)}`
    if (!used.has(prefix)) return prefix
  }
  throw new Error('No free network for the test machines')
}
