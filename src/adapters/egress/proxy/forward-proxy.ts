import { createServer, type Server, type Socket } from 'node:net'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { ForbiddenAddress, INTERNET, type MayBePrivate, type Network, resolveAllowed } from '../egress.ts'
import { dialFirst } from './dial.ts'
import { BadProxyRequest, type Credentials, type ProxyRequest, parseProxyRequest } from './head.ts'
import { readHead } from './read-head.ts'
import { forwardPlain, forwardTunnel, NotTheHost } from './transfer.ts'

/** Why a destination was refused. */
export const BLOCK_REASONS = ['policy', 'address', 'name', 'request'] as const
export type BlockReason = (typeof BLOCK_REASONS)[number]

/** `isTlsRequired`: only TLS for this very host may pass a tunnel. */
export type Verdict = { isAllowed: false } | { isAllowed: true; isTlsRequired: boolean }

/** Decides about the requests of agents; `host` is always canonical. */
export type ProxyRules = {
  /** Returns the agent's id; null for wrong credentials. */
  findAgent(credentials: Credentials): string | null
  judge(agentId: string, host: string, port: number): Verdict
  mayBePrivate: MayBePrivate
  noteAllowed(agentId: string): void
  noteBlocked(agentId: string, blocked: { host: string; port: number; reason: BlockReason }): void
}

/** A forward proxy for agents: `CONNECT` for TLS, and absolute URLs for plain HTTP. */
export type ForwardProxy = {
  /** Listens on an address and port (0 for a free one). @returns the port. @throws the system's error. */
  listen(host: string, port: number): Promise<number>
  /** Listens on a Unix socket. @throws the system's error. */
  listenAt(path: string): Promise<void>
  /** Closes all listeners and connections. */
  close(): Promise<void>
}

const MAX_CONNECTIONS = 4096
const MAX_CONNECTIONS_OF_AGENT = 256
const IDLE_MS = 10 * 60_000

/** Creates the proxy. `network` replaces DNS and routing in tests. */
export function createForwardProxy(deps: { rules: ProxyRules; log: Log; network?: Network }): ForwardProxy {
  const connections = new Set<Socket>()
  const servers = new Set<Server>()
  const ofAgent = new Map<string, number>()
  const parts = { ...deps, network: deps.network ?? INTERNET, ofAgent }

  const accept = (client: Socket) => {
    connections.add(client)
    client.setTimeout(IDLE_MS, () => client.destroy())
    client.on('close', () => connections.delete(client))
    // A reset connection ends by itself.
    client.on('error', () => client.destroy())
    serveClient(parts, client).catch((error: unknown) => {
      deps.log.warn({ error: errorMessage(error) }, 'a request of an agent to the egress proxy failed')
      client.destroy()
    })
  }
  const open = (where: { host: string; port: number } | { path: string }) =>
    new Promise<Server>((resolve, reject) => {
      const server = createServer({ allowHalfOpen: true }, accept)
      server.maxConnections = MAX_CONNECTIONS
      server.once('error', reject)
      server.listen({ ...where, exclusive: true }, () => {
        servers.add(server)
        resolve(server)
      })
    })
  return {
    async listen(host, port) {
      const address = (await open({ host, port })).address()
      return typeof address === 'object' && address ? address.port : 0
    },
    async listenAt(path) {
      await open({ path })
    },
    async close() {
      for (const client of connections) client.destroy()
      await Promise.all([...servers].map((server) => new Promise((resolve) => server.close(resolve))))
    },
  }
}

type Parts = { rules: ProxyRules; network: Network; log: Log; ofAgent: Map<string, number> }

async function serveClient(parts: Parts, client: Socket): Promise<void> {
  const received = await readHead(client)
  if (received === null) return void client.destroy()
  const request = tryParse(received.head)
  if (request instanceof BadProxyRequest) return answer(client, 400, 'Bad Request', request.message)
  const agentId = request.credentials && parts.rules.findAgent(request.credentials)
  if (!agentId)
    return answer(client, 407, 'Proxy Authentication Required', 'The proxy needs the credentials of an agent')
  const open = (parts.ofAgent.get(agentId) ?? 0) + 1
  if (open > MAX_CONNECTIONS_OF_AGENT) return answer(client, 429, 'Too Many Requests', 'Too many open connections')
  parts.ofAgent.set(agentId, open)
  try {
    await serveRequest(parts, client, { agentId, request, rest: received.rest })
  } finally {
    const left = (parts.ofAgent.get(agentId) ?? 1) - 1
    if (left > 0) parts.ofAgent.set(agentId, left)
    else parts.ofAgent.delete(agentId)
  }
}

function tryParse(head: string): ProxyRequest | BadProxyRequest {
  try {
    return parseProxyRequest(head)
  } catch (error) {
    if (error instanceof BadProxyRequest) return error
    throw error
  }
}

type Asked = { agentId: string; request: ProxyRequest; rest: Buffer }

async function serveRequest({ rules, network }: Parts, client: Socket, asked: Asked): Promise<void> {
  const { agentId, request, rest } = asked
  const { host, port } = request
  const block = (reason: BlockReason) => rules.noteBlocked(agentId, { host, port, reason })
  const verdict = rules.judge(agentId, host, port)
  if (!verdict.isAllowed) {
    block('policy')
    return answer(client, 403, 'Forbidden', `The egress policy of this agent does not allow ${host}:${port}`)
  }
  const origin = await connectTo({ rules, network }, request)
  if (origin instanceof ForbiddenAddress) {
    block('address')
    return answer(client, 403, 'Forbidden', `${host} has a private or reserved address`)
  }
  if (origin === null) return answer(client, 502, 'Bad Gateway', `${host}:${port} cannot be reached`)
  rules.noteAllowed(agentId)
  try {
    if (request.kind === 'plain') await forwardPlain(client, origin, request, rest)
    else await forwardTunnel(client, origin, { host, rest, isTlsRequired: verdict.isTlsRequired })
  } catch (error) {
    if (error instanceof NotTheHost) block('name')
    else if (error instanceof BadProxyRequest) block('request')
    else throw error
  } finally {
    origin.destroy()
    client.destroySoon()
  }
}

/** Connects to a checked address of the host; null when none answers. */
async function connectTo(
  { rules, network }: Pick<Parts, 'rules' | 'network'>,
  { host, port }: ProxyRequest,
): Promise<Socket | ForbiddenAddress | null> {
  try {
    const addresses = await resolveAllowed({ network, mayBePrivate: rules.mayBePrivate }, host, port)
    return await dialFirst(addresses.map((address) => network.route(address, port)))
  } catch (error) {
    return error instanceof ForbiddenAddress ? error : null
  }
}

function answer(client: Socket, status: number, phrase: string, message: string): void {
  const body = JSON.stringify({ error: message, ...(status === 403 && { code: 'EGRESS_BLOCKED' }) })
  const head = [
    `HTTP/1.1 ${status} ${phrase}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...(status === 407 ? ['proxy-authenticate: Basic realm="stead"'] : []),
    'connection: close',
  ]
  client.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  // The rest of a request must not keep the connection open.
  client.resume()
  client.setTimeout(5000)
}
