/**
 * An agent that answers `/healthz` and on `/attempts` tries to escape from its sandbox. The response is one JSON object
 * per line; `escaped` is true if the attempt succeeded. Its targets are in `targets.json` in its state folder.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { openRelays } from '../../../src/agent/network/relays.ts'
import { NETWORK_ATTEMPTS, type NetworkTargets, request } from './network-attempts.ts'

type Targets = NetworkTargets & {
  dataDir: string
  otherAgent: string
  platformPid: number
  home: string
  strangerPid: number
}

const { PORT, HOST, AGENT_DIR = '', AGENT_SOCKETS, PLATFORM_URL = '', EGRESS_PROXY = '' } = process.env
const SHELL_MS = 20_000

/** An attempt returns the data it obtained, an empty string for none, or throws. */
type Attempt = (targets: Targets) => string | Promise<string>

const read = (path: string) => readFileSync(path).toString('latin1').slice(0, 40) || 'empty file'
const list = (path: string) => readdirSync(path).join(' ')
const write = (path: string) => {
  writeFileSync(path, 'x')
  return `wrote ${path}`
}

/** Returns the output of a command. @throws Error when it fails. */
function shell(script: string): string {
  const done = Bun.spawnSync(['/bin/sh', '-c', script], { stdio: ['ignore', 'pipe', 'pipe'], timeout: SHELL_MS })
  if (done.exitCode !== 0) throw new Error(done.stderr.toString().trim().split('\n').at(-1) || `exit ${done.exitCode}`)
  return done.stdout.toString().trim() || 'succeeded'
}

const signal = (pid: number) => {
  process.kill(pid, 0)
  return `may signal ${pid}`
}

const connect = (path: string) =>
  new Promise<string>((resolve, reject) => {
    const socket = createConnection({ path })
    socket.on('connect', () => resolve(`connected to ${path}`)).on('error', reject)
  })

/** Makes a system call by its x86-64 number through Perl, which every Debian has. */
const call = (number: number, ...args: (number | string)[]) => {
  // Perl passes strings by reference, so they must be variables.
  const words = args.map((arg) => (typeof arg === 'string' ? `my $t${args.indexOf(arg)} = "${arg}";` : ''))
  const list = [number, ...args.map((arg) => (typeof arg === 'string' ? `$t${args.indexOf(arg)}` : arg))].join(', ')
  return shell(`perl -e '${words.join(' ')} exit(syscall(${list}) < 0 ? 1 : 0)'`)
}

/** Writes until the system refuses. Returns the size if it exceeds `maxMegabytes`. */
const fill = (folder: string, maxMegabytes: number) => {
  const chunk = Buffer.alloc(1024 * 1024)
  mkdirSync(folder, { recursive: true })
  for (let index = 0; index <= maxMegabytes; index += 1) writeFileSync(join(folder, `part-${index}`), chunk)
  return `wrote more than ${maxMegabytes} MB to ${folder}`
}

const ATTEMPTS: Record<string, Attempt> = {
  'read the encryption key': ({ dataDir }) => read(join(dataDir, 'encryption.key')),
  'read the database': ({ dataDir }) => read(join(dataDir, 'stead.db')),
  'list the data folder': ({ dataDir }) => list(dataDir).replace(/^agents$/, ''),
  'write into the data folder': ({ dataDir }) => write(join(dataDir, 'planted')),
  'read the settings of the platform': ({ dataDir }) => read(join(dataDir, 'stead.env')),
  'read a secret of another agent': ({ otherAgent }) => read(join(otherAgent, 'secrets', 'GATEWAY_TOKEN')),
  'list the files of another agent': ({ otherAgent }) => list(join(otherAgent, 'state')),
  'write into the files of another agent': ({ otherAgent }) => write(join(otherAgent, 'state', 'planted')),
  'read the log of another agent': ({ otherAgent }) => read(join(otherAgent, 'agent.log')),
  'follow a link to the encryption key': ({ dataDir }) => {
    symlinkSync(join(dataDir, 'encryption.key'), join(AGENT_DIR, 'link'))
    return read(join(AGENT_DIR, 'link'))
  },
  'leave the state folder upwards': () =>
    list(join(AGENT_DIR, '..'))
      .replace(/\b(?:secrets|state)\b/g, '')
      .trim(),
  'write a secret of its own': () => write(join(AGENT_DIR, '..', 'secrets', 'PLATFORM_TOKEN')),
  'change its own record': () => write(join(AGENT_DIR, '..', 'runtime.json')),
  'read the environment of the platform': ({ platformPid }) => read(`/proc/${platformPid}/environ`),
  'read the memory map of the platform': ({ platformPid }) => read(`/proc/${platformPid}/maps`),
  'open the root of the platform': ({ platformPid, dataDir }) => list(`/proc/${platformPid}/root${dataDir}`),
  'list the descriptors of the platform': ({ platformPid }) => list(`/proc/${platformPid}/fd`),
  'see processes of the host': () =>
    readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length > 12 ? 'many' : '',
  'leave by the root of the first process': ({ dataDir }) => list(`/proc/1/root${dataDir}`).replace(/^agents$/, ''),
  'signal the platform': ({ platformPid }) => signal(platformPid),
  'signal a process of the host': ({ strangerPid }) => signal(strangerPid),
  'trace the platform': ({ platformPid }) => call(101, 16, platformPid, 0, 0),
  'trace its own child': () =>
    shell("perl -e 'my $p = fork(); if (!$p) { sleep 5; exit } exit(syscall(101, 16, $p, 0, 0) < 0 ? 1 : 0)'"),
  'read the memory of the platform': ({ platformPid }) => read(`/proc/${platformPid}/mem`),
  'mount a file system': () => shell(`mkdir -p ${AGENT_DIR}/m && mount -t tmpfs none ${AGENT_DIR}/m`),
  'mount a proc of the host': () => shell(`mkdir -p ${AGENT_DIR}/p && mount -t proc proc ${AGENT_DIR}/p`),
  'create a user namespace and mount': () => shell('unshare --user --map-root-user --mount mount -t tmpfs none /tmp'),
  'create a user namespace': () => shell('unshare --user true'),
  'create a user namespace by clone': () =>
    shell("perl -e 'my $p = syscall(56, 0x10000011, 0, 0, 0, 0); exit($p < 0 ? 1 : 0)'"),
  'enter the namespaces of the first process': () => shell('nsenter --target 1 --mount true'),
  'make system folders writable': () => shell('mount -o remount,rw /usr'),
  'unmount what hides': () => shell('umount /proc/sys'),
  'change the root': () => shell('chroot / true'),
  'write a program of the system': () => write('/usr/bin/planted'),
  'write into the root folder': () => write('/planted'),
  'write into /etc': () => write('/etc/planted'),
  'change a setting of the kernel': () => write('/proc/sys/kernel/domainname'),
  'change the memory policy of the kernel': () => shell('echo 0 > /proc/sys/vm/overcommit_memory'),
  'set the core pattern': () => shell('echo "|/tmp/x" > /proc/sys/kernel/core_pattern'),
  'trigger the magic key': () => shell('echo h > /proc/sysrq-trigger'),
  'read the memory of the kernel': () => read('/proc/kcore'),
  'write into /sys': () => shell('echo 1 > /sys/kernel/profiling'),
  'create a control group': () => shell('mkdir /sys/fs/cgroup/escape /sys/fs/cgroup/unified/escape'),
  'leave its control group': () =>
    shell('echo 0 > /sys/fs/cgroup/cgroup.procs || echo 0 > /sys/fs/cgroup/unified/cgroup.procs'),
  'read the disk of the host': () => {
    const disk = ['/dev/vda', '/dev/sda', '/dev/nvme0n1'].find(existsSync)
    return disk ? read(disk) : ''
  },
  'read /dev/mem': () => read('/dev/mem'),
  'open the host’s kernel messages': () => read('/dev/kmsg'),
  'create a device': () => shell(`mknod ${AGENT_DIR}/disk b 254 0 && head -c 1 ${AGENT_DIR}/disk`),
  'use a program with setuid': () =>
    shell('for p in su mount sudo passwd; do q=$(command -v $p) && [ -u "$q" ] && exec $q -c id; done; exit 1'),
  'make a program with setuid root': () =>
    shell(
      `cp /bin/true ${AGENT_DIR}/t && chown 0 ${AGENT_DIR}/t && chmod u+s ${AGENT_DIR}/t && [ -O ${AGENT_DIR}/t ] && false`,
    ),
  'gain a privilege': () =>
    /^CapEff:\s*0*$/m.test(readFileSync('/proc/self/status', 'utf8')) ? '' : 'has capabilities',
  'run without no_new_privs': () =>
    /^NoNewPrivs:\s*1$/m.test(readFileSync('/proc/self/status', 'utf8')) ? '' : 'is not set',
  'become root': () => shell('perl -e \'$> = 0; $< = 0; exit($> == 0 && open(my $f, "<", "/etc/shadow") ? 0 : 1)\''),
  'read /etc/shadow': () => read('/etc/shadow'),
  'read the keys of the host': () => read('/proc/keys'),
  'use the keyring of the session': () => call(250, 11, 0xfffffffd, 0, 0, 0),
  'add a key': () => call(248, 'user', 'escape', 'x', 1, 0xfffffffe),
  'list the home folder': ({ home }) => list(home),
  'list /root': () => list('/root'),
  'list /home': () => list('/home'),
  'list /var': () => list('/var'),
  'read the temporary files of the host': ({ dataDir }) =>
    list('/tmp')
      .split(' ')
      .filter((name) => name !== '' && !dataDir.startsWith(`/tmp/${name}`))
      .join(' '),
  'connect to Docker': () => connect('/var/run/docker.sock'),
  'connect to the system bus': () => connect('/run/dbus/system_bus_socket'),
  'reach shared memory of System V': () =>
    shell('ipcs -m | tail -n +4 | grep . || true') === 'succeeded' ? '' : 'sees segments',
  'see shared memory of the host': () => list('/dev/shm'),
  'load a kernel module': () => call(313, 0, '', 0),
  'load a BPF program': () => call(321, 0, 0, 0),
  'use a performance counter': () => call(298, 0, 0, -1, -1, 0),
  'open a socket to the hypervisor': () => call(41, 40, 1, 0),
  'change the host name': () => shell('hostname escaped'),
  'change the clock': () => shell('date -s @0'),
  'restart the machine': () => call(169, 0xfee1dead, 672274793, 0, 0),
  'exceed the memory of /dev/shm': () => fill('/dev/shm', 80),
  'exceed the memory of /tmp': () => fill('/tmp/big', 80),
  'exceed its number of processes': () => {
    const count = Number(
      shell(
        "perl -e 'my $n = 0; while ($n < 2000) { my $p = fork(); last if !defined $p; if (!$p) { sleep 8; exit } $n++ } print $n'",
      ),
    )
    return count > 300 ? `started ${count} processes` : ''
  },
  'exceed its memory': () => shell('perl -e \'my @l; for (1 .. 60) { push @l, "x" x (100 * 1024 * 1024) } exit 0\''),
}

async function attempt(name: string, run: Attempt, targets: Targets) {
  try {
    const got = await run(targets)
    return { name, escaped: got !== '', detail: got || 'nothing' }
  } catch (error) {
    return { name, escaped: false, detail: error instanceof Error ? error.message.split('\n')[0] : 'failed' }
  }
}

/** Without a sandbox, the attempts would change and restart this machine. */
function requireSandbox(): void {
  const hasNoCapabilities = /^CapEff:\s*0+$/m.test(readFileSync('/proc/self/status', 'utf8'))
  const isRoot = process.getuid?.() === 0
  if (isRoot || !hasNoCapabilities) throw new Error('This program runs only where its attempts can do no harm')
}

async function attemptAll(): Promise<string> {
  requireSandbox()
  const targets = readTargets()
  const lines: string[] = []
  for (const [name, run] of Object.entries({ ...ATTEMPTS, ...NETWORK_ATTEMPTS }))
    lines.push(JSON.stringify(await attempt(name, run, targets)))
  return lines.join('\n')
}

const readTargets = (): Targets => JSON.parse(readFileSync(join(AGENT_DIR, 'targets.json'), 'utf8'))

/** Returns what the agent may reach: the platform, and an allowed host by the proxy. */
async function reachAllowed(): Promise<string> {
  const platform = await (await fetch(PLATFORM_URL)).text()
  return `${platform}, ${await request(readTargets(), readTargets().allowedUrl)}`
}

/** Puts a link to a socket of the host where the platform connects to this agent. */
function replaceSocket(): string {
  const path = join(AGENT_SOCKETS ?? '', 'agent', 'agent.sock')
  rmSync(path)
  symlinkSync(readTargets().hostSocket, path)
  return 'replaced'
}

if (AGENT_SOCKETS) {
  const where = { folder: AGENT_SOCKETS, port: Number(PORT), platformUrl: PLATFORM_URL, proxyUrl: EGRESS_PROXY }
  await openRelays({ ...where, credentials: '', localUrls: [] })
}

Bun.serve({
  port: Number(PORT),
  hostname: HOST ?? '127.0.0.1',
  idleTimeout: 255,
  async fetch(request) {
    const { pathname } = new URL(request.url)
    if (pathname === '/attempts') return new Response(await attemptAll())
    if (pathname === '/owner') return Response.json({ uid: process.getuid?.(), stateUid: statSync(AGENT_DIR).uid })
    if (pathname === '/reach') return new Response(await reachAllowed())
    if (pathname === '/replace-socket') return new Response(replaceSocket())
    return Response.json({ ok: true, status: 'live' })
  },
})
