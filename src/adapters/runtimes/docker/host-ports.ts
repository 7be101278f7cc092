import { AppError } from '../../../core/errors.ts'

const IPTABLES = 'iptables'
const WAIT_SECONDS = '5'

/** Returns whether this process may change the firewall of this machine. */
export function canLimitHost(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0 && Bun.which(IPTABLES) !== null
}

/**
 * Lets the containers of a network reach only these TCP ports of this machine. Otherwise they reach every service that
 * listens on all addresses.
 * @throws AppError `internal` when the firewall cannot be changed.
 */
export async function limitHostPorts(interfaceName: string, ports: readonly number[]): Promise<void> {
  const chain = `STEAD-${interfaceName}`
  // A chain that exists is emptied.
  await run(['-N', chain]).catch(() => run(['-F', chain]))
  await run(['-A', chain, '-p', 'tcp', '-m', 'multiport', '--dports', ports.join(','), '-j', 'RETURN'])
  await run(['-A', chain, '-m', 'conntrack', '--ctstate', 'ESTABLISHED,RELATED', '-j', 'RETURN'])
  await run(['-A', chain, '-j', 'DROP'])
  const jump = ['-i', interfaceName, '-j', chain]
  await run(['-C', 'INPUT', ...jump]).catch(() => run(['-I', 'INPUT', ...jump]))
}

async function run(args: string[]): Promise<void> {
  const child = Bun.spawn([IPTABLES, '-w', WAIT_SECONDS, ...args], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const reason = await child.stderr.text()
  if ((await child.exited) !== 0) throw new AppError('internal', `The firewall cannot be changed: ${reason.trim()}`)
}
