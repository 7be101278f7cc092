import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'

type RelaySettings = {
  /** The folder with the sockets of the platform, by their ports, and that of the agent. */
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
  const socketOf = (url: string) => join(folder, 'platform', `${portOf(url)}.sock`)
  const proxy = socketOf(proxyUrl)
  const reserved = [port, portOf(platformUrl), portOf(proxyUrl)]
  const others = [...new Set(settings.localUrls.map((url) => new URL(url)))].filter(
    (url) => isLoopback(url.hostname) && !reserved.includes(portOf(url.href)),
  )
  await Promise.all([
    listenOn(portOf(platformUrl), () => dial({ path: socketOf(platformUrl) })),
    listenOn(portOf(proxyUrl), () => dial({ path: proxy })),
    ...[...new Map(others.map((url) => [portOf(url.href), url])).values()].map((url) =>
      listenOn(portOf(url.href), () => openTunnel(proxy, `${url.hostname}:${portOf(url.href)}`, settings.credentials)),
    ),
    listenAt(join(folder, 'agent', 'agent.sock'), () => dial({ host: '127.0.0.1', port })),
  ])
}

type Open = () => Promise<Socket>
type Place = { port: number; host: string } | { path: string }

/** @throws the system's error. */
function dial(place: Place): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...place, allowHalfOpen: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}

function listenOn(port: number, open: Open): Promise<Server> {
  return start(open, { port, host: '127.0.0.1' })
}

function listenAt(path: string, open: Open): Promise<Server> {
  return start(open, { path })
}

function start(open: Open, where: Place): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => void pass(client, open))
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(where, () => resolve(server))
  })
}

/** Connects both sides until one of them ends. */
async function pass(client: Socket, open: Open): Promise<void> {
  client.on('error', () => client.destroy())
  try {
    const target = await open()
    target.on('error', () => client.destroy())
    target.on('close', () => client.destroySoon())
    client.on('close', () => target.destroySoon())
    client.pipe(target)
    target.pipe(client)
  } catch {
    // The client sees a connection that ends, as from any server that is away.
    client.destroy()
  }
}

/** Opens a tunnel through the proxy. @throws Error when it is refused. */
async function openTunnel(proxy: string, authority: string, credentials: string): Promise<Socket> {
  const socket = await dial({ path: proxy })
  const basic = Buffer.from(credentials).toString('base64')
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`)
  let received = Buffer.alloc(0)
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    received = Buffer.concat([received, chunk])
    const end = received.indexOf(END_OF_HEAD)
    if (end < 0) continue
    if (!received.subarray(0, end).toString('latin1').startsWith('HTTP/1.1 200')) break
    socket.unshift(received.subarray(end + END_OF_HEAD.length))
    return socket
  }
  socket.destroy()
  throw new Error(`The proxy does not open a tunnel to ${authority}`)
}

const END_OF_HEAD = '\r\n\r\n'

function isLoopback(hostname: string): boolean {
  return hostname === '127.0.0.1' || hostname === 'localhost'
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url)
  return Number(port) || (protocol === 'https:' ? 443 : 80)
}
