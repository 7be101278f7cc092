import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'

/** Sockets of the platform and of the agent, in the folder that a sandbox without a network shares with the platform. */
export const PLATFORM_SOCKET = 'platform/platform.sock'
export const PROXY_SOCKET = 'platform/proxy.sock'
export const AGENT_SOCKET = 'agent/agent.sock'

type RelaySettings = {
  /** The folder with the sockets. */
  folder: string
  port: number
  platformUrl: string
  proxyUrl: string
  /** Credentials for the proxy, as `user:password`. */
  credentials: string
  /** URLs on this machine that the operator chose; they are reached by the proxy. */
  localUrls: readonly string[]
}

/**
 * Connects a sandbox without a network: ports of its own loopback device lead to the platform and the proxy, and a socket
 * leads to the agent.
 * @throws the system's error for a port or socket that cannot be opened.
 */
export async function openRelays(settings: RelaySettings): Promise<void> {
  const { folder, port, platformUrl, proxyUrl } = settings
  const proxy = join(folder, PROXY_SOCKET)
  const reserved = [port, portOf(platformUrl), portOf(proxyUrl)]
  const others = [...new Set(settings.localUrls.map((url) => new URL(url)))].filter(
    (url) => isLoopback(url.hostname) && !reserved.includes(portOf(url.href)),
  )
  await Promise.all([
    listenOn(portOf(platformUrl), () => connect(join(folder, PLATFORM_SOCKET))),
    listenOn(portOf(proxyUrl), () => connect(proxy)),
    ...[...new Map(others.map((url) => [portOf(url.href), url])).values()].map((url) =>
      listenOn(portOf(url.href), () => openTunnel(proxy, `${url.hostname}:${portOf(url.href)}`, settings.credentials)),
    ),
    listenAt(join(folder, AGENT_SOCKET), () => connect({ host: '127.0.0.1', port, allowHalfOpen: true })),
  ])
}

function listenOn(port: number, open: () => Socket): Promise<Server> {
  return start(
    createServer({ allowHalfOpen: true }, (client) => pass(client, open())),
    { port, host: '127.0.0.1' },
  )
}

function listenAt(path: string, open: () => Socket): Promise<Server> {
  return start(
    createServer({ allowHalfOpen: true }, (client) => pass(client, open())),
    { path },
  )
}

function start(server: Server, where: { port: number; host: string } | { path: string }): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(where, () => resolve(server))
  })
}

function pass(client: Socket, target: Socket): void {
  client.on('error', () => target.destroy())
  target.on('error', () => client.destroy())
  client.on('close', () => target.destroySoon())
  target.on('close', () => client.destroySoon())
  client.pipe(target)
  target.pipe(client)
}

/** Opens a tunnel through the proxy; its answer is left out of what the client receives. */
function openTunnel(proxy: string, authority: string, credentials: string): Socket {
  const socket = connect(proxy)
  const basic = Buffer.from(credentials).toString('base64')
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`)
  const skipAnswer = (received: Buffer) => (chunk: Buffer) => {
    const all = Buffer.concat([received, chunk])
    const end = all.indexOf('\r\n\r\n')
    socket.pause()
    if (end < 0) return void socket.once('data', skipAnswer(all))
    if (!all.subarray(0, end).toString('latin1').startsWith('HTTP/1.1 200')) return void socket.destroy()
    socket.unshift(all.subarray(end + 4))
  }
  socket.once('data', skipAnswer(Buffer.alloc(0)))
  return socket
}

function isLoopback(hostname: string): boolean {
  return hostname === '127.0.0.1' || hostname === 'localhost'
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url)
  return Number(port) || (protocol === 'https:' ? 443 : 80)
}
