/** Returns why networks behind NAT cannot be created here; null when they can. */
export function whyNoNat(): string | null {
  if (process.platform !== 'linux') return 'Linux only'
  if (process.getuid?.() !== 0) return 'needs root'
  for (const tool of ['ip', 'nft']) if (!Bun.which(tool)) return `needs ${tool}`
  const name = `natprobe${process.pid}`
  if (!succeeds(['ip', 'netns', 'add', name])) return 'needs network namespaces'
  run(['ip', 'netns', 'del', name])
  return null
}

/**
 * A network behind a NAT router that rejects incoming connections. `wan` is this machine's address from inside;
 * `router` is the router's outer address.
 */
export type NatNetwork = Disposable & {
  wan: string
  router: string
  /** Prefix of commands that run inside. */
  inside: string[]
  /** Drops every packet silently, as an unplugged cable does. */
  cut(): void
  /** Resets every connection to `port` and rejects new ones. */
  reset(port: number): void
  /** Ends `cut` and `reset`. */
  mend(): void
}

const RULES = `
table ip nat {
  chain post {
    type nat hook postrouting priority srcnat;
    oifname "wan0" masquerade
  }
}
table ip guard {
  chain trouble {
  }
  chain forward {
    type filter hook forward priority filter; policy drop;
    jump trouble
    iifname "lan0" accept
    ct state established,related accept
  }
  chain input {
    type filter hook input priority filter; policy drop;
    iifname "lan0" accept
    ct state established,related accept
  }
}
`

/** Creates the namespaces of a machine and its router. @throws Error with the failed command. */
export function openNatNetwork(): NatNetwork {
  const id = String(process.pid)
  const [machine, router, host] = [`natm${id}`, `natr${id}`, `nath${id}`]
  const net = `10.213.${process.pid % 250}`
  const within = (name: string, ...command: string[]) => run(['ip', 'netns', 'exec', name, ...command])
  const remove = () => {
    for (const name of [machine, router]) succeeds(['ip', 'netns', 'del', name])
    succeeds(['ip', 'link', 'del', host])
  }
  try {
    for (const name of [machine, router]) run(['ip', 'netns', 'add', name])
    run(['ip', 'link', 'add', host, 'type', 'veth', 'peer', 'name', 'wan0', 'netns', router])
    run(['ip', 'link', 'add', 'lan0', 'netns', router, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', machine])
    run(['ip', 'addr', 'add', `${net}.1/24`, 'dev', host])
    run(['ip', 'link', 'set', host, 'up'])
    within(router, 'ip', 'addr', 'add', `${net}.2/24`, 'dev', 'wan0')
    within(router, 'ip', 'addr', 'add', '192.168.77.1/24', 'dev', 'lan0')
    for (const device of ['wan0', 'lan0', 'lo']) within(router, 'ip', 'link', 'set', device, 'up')
    within(machine, 'ip', 'addr', 'add', '192.168.77.2/24', 'dev', 'eth0')
    for (const device of ['eth0', 'lo']) within(machine, 'ip', 'link', 'set', device, 'up')
    within(machine, 'ip', 'route', 'add', 'default', 'via', '192.168.77.1')
    within(router, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward')
    run(['ip', 'netns', 'exec', router, 'nft', '-f', '-'], RULES)
  } catch (error) {
    remove()
    throw error
  }
  const trouble = (...rule: string[]) => within(router, 'nft', 'add', 'rule', 'ip', 'guard', 'trouble', ...rule)
  return {
    wan: `${net}.1`,
    router: `${net}.2`,
    inside: ['ip', 'netns', 'exec', machine],
    cut: () => trouble('drop'),
    reset: (port) => trouble('tcp', 'dport', String(port), 'reject', 'with', 'tcp', 'reset'),
    mend: () => within(router, 'nft', 'flush', 'chain', 'ip', 'guard', 'trouble'),
    [Symbol.dispose]: remove,
  }
}

function run(command: string[], input = ''): void {
  const { exitCode, stderr } = Bun.spawnSync(command, { stdin: Buffer.from(input), stdout: 'ignore', stderr: 'pipe' })
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr.toString().trim()}`)
}

function succeeds(command: string[]): boolean {
  return Bun.spawnSync(command, { stdio: ['ignore', 'ignore', 'ignore'] }).exitCode === 0
}
