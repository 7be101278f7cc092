/** Attempts of an agent without a network to reach something else than the platform and its egress proxy. */
import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'

/**
 * `hostPort` is a server of the host on TCP and UDP, also on `hostAddress`; `otherPort` that of another agent. Servers
 * answer with `secret`. `credentials` are those of the agent for the proxy, `user:password`.
 */
export type NetworkTargets = {
  hostPort: number
  otherPort: number
  hostAddress: string
  abstractName: string
  hostSocket: string
  allowedUrl: string
  credentials: string
}

const WAIT_MS = 2000
const { EGRESS_PROXY = '', AGENT_SOCKETS = '' } = process.env

/** Returns a text when a connection is opened. */
function dial(host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port })
    const timer = setTimeout(() => socket.destroy(new Error('no answer')), WAIT_MS)
    socket.on('connect', () => resolve(`connected to ${host}:${port}`)).on('error', reject)
    socket.on('close', () => clearTimeout(timer))
  })
}

/** Returns the answer to a datagram. */
function sendDatagram(host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    const finish = (error: Error) => {
      clearTimeout(timer)
      socket.close()
      reject(error)
    }
    const timer = setTimeout(() => finish(new Error('no answer')), WAIT_MS)
    socket.on('message', (text) => resolve(`received ${text}`)).on('error', finish)
    socket.send('x', port, host, (error) => error && finish(error))
  })
}

/** Sends raw text to the proxy. @returns the answer when its status is 200, else nothing. */
function askProxy(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(EGRESS_PROXY).port) })
    let answer = ''
    const timer = setTimeout(() => socket.destroy(), WAIT_MS)
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', reject).on('close', () => {
      clearTimeout(timer)
      resolve(answer.startsWith('HTTP/1.1 200') ? answer : '')
    })
    socket.write(text)
  })
}

const toBasic = (credentials: string) => `Proxy-Authorization: Basic ${btoa(credentials)}\r\n`

/** Requests a URL by the proxy. */
export function request({ credentials }: Pick<NetworkTargets, 'credentials'>, url: string): Promise<string> {
  return askProxy(`GET ${url} HTTP/1.1\r\nHost: ${new URL(url).host}\r\n${toBasic(credentials)}\r\n`)
}

function tunnel({ credentials }: NetworkTargets, authority: string): Promise<string> {
  return askProxy(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${toBasic(credentials)}\r\n`)
}

function perl(script: string): string {
  const { exitCode, stdout } = Bun.spawnSync(['perl', '-MSocket', '-e', script], { timeout: 10_000 })
  if (exitCode !== 0) throw new Error(`exit ${exitCode}`)
  return stdout.toString() || 'succeeded'
}

const openSocket = (...numbers: number[]) => perl(`exit(syscall(41, ${numbers.join(', ')}) < 0 ? 1 : 0)`)

type NetworkAttempt = (targets: NetworkTargets) => string | Promise<string>

/** Spellings of the loopback address. */
const LOOPBACK = ['127.0.0.1', '127.1', '0.0.0.0', '127.0.0.2', '::1', '::ffff:127.0.0.1', 'localhost']
/** Destinations that no sandbox may reach without the proxy. */
const OUTSIDE: [string, number][] = [
  ['169.254.169.254', 80],
  ['fd00:ec2::254', 80],
  ['168.63.129.16', 80],
  ['100.100.100.200', 80],
  ['10.0.0.1', 80],
  ['172.17.0.1', 80],
  ['192.168.1.1', 80],
  ['1.1.1.1', 443],
  ['2606:4700:4700::1111', 443],
]
/** Spellings of loopback and metadata addresses in URLs. */
const HOSTS = [
  ...['127.0.0.1', '2130706433', '0x7f000001', '0177.0.0.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost', '0.0.0.0'],
  ...['169.254.169.254', '[fd00:ec2::254]', '10.0.0.1', '[64:ff9b::7f00:1]'],
]

const direct = [
  ...LOOPBACK.map((host): [string, NetworkAttempt] => [
    `connect to the host by ${host}`,
    ({ hostPort }) => dial(host, hostPort),
  ]),
  ...LOOPBACK.slice(0, 2).map((host): [string, NetworkAttempt] => [
    `send a datagram to the host by ${host}`,
    ({ hostPort }) => sendDatagram(host, hostPort),
  ]),
  ...OUTSIDE.map(([host, port]): [string, NetworkAttempt] => [`connect to ${host}`, () => dial(host, port)]),
]

const proxied = HOSTS.flatMap((host): [string, NetworkAttempt][] => [
  [`request ${host} by the proxy`, (targets) => request(targets, `http://${host}:${targets.hostPort}/`)],
  [`open a tunnel to ${host} by the proxy`, (targets) => tunnel(targets, `${host}:${targets.hostPort}`)],
])

const others: [string, NetworkAttempt][] = [
  ['connect to the address of the host', ({ hostAddress, hostPort }) => dial(hostAddress, hostPort)],
  ['send a datagram to the address of the host', ({ hostAddress, hostPort }) => sendDatagram(hostAddress, hostPort)],
  ['connect to another agent', ({ otherPort }) => dial('127.0.0.1', otherPort)],
  ['open a tunnel to another agent', (targets) => tunnel(targets, `127.0.0.1:${targets.otherPort}`)],
  [
    'connect to an abstract socket of the host',
    ({ abstractName }) =>
      perl(
        `socket(my $s, PF_UNIX, SOCK_STREAM, 0) or exit 1; connect($s, pack("Sa*", AF_UNIX, "\\0${abstractName}")) or exit 1`,
      ),
  ],
  ['resolve a name', async () => (await lookup('example.com')).address],
  ['ask a name server', () => sendDatagram('1.1.1.1', 53)],
  ['open a raw socket', () => openSocket(2, 3, 1)],
  ['open a raw socket of IPv6', () => openSocket(10, 3, 58)],
  ['open a packet socket', () => openSocket(17, 3, 768)],
  ['use a proxy without credentials', ({ allowedUrl }) => askProxy(`GET ${allowedUrl} HTTP/1.1\r\n\r\n`)],
  [
    'use the proxy as another agent',
    ({ allowedUrl, credentials }) => request({ credentials: `other:${credentials.split(':')[1]}` }, allowedUrl),
  ],
  ['request a host that is not listed', (targets) => request(targets, 'http://evil.example/')],
  ['see an interface of the host', () => interfaces()],
  ['find other sockets of the host', () => (readdirSync(join(AGENT_SOCKETS, 'platform')).length > 2 ? 'many' : '')],
]

/** Returns the names of network interfaces besides loopback. */
function interfaces(): string {
  const lines = perl('open(my $f, "<", "/proc/net/dev"); print <$f>').split('\n').slice(2)
  return lines
    .map((line) => line.split(':')[0]?.trim() ?? '')
    .filter((name) => name !== '' && name !== 'lo')
    .join(' ')
}

export const NETWORK_ATTEMPTS: Record<string, NetworkAttempt> = Object.fromEntries([...direct, ...proxied, ...others])
