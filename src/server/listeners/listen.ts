import http from 'node:http'
import { getPath } from 'hono/utils/url'
import type { ProxyClient } from '../../adapters/gateways/proxy.ts'
import { AppError, toListenError } from '../../core/errors.ts'
import type { SocketHandler } from '../../core/web-socket.ts'
import type { UnderWay } from '../../features/monitoring/prometheus/registry.ts'
import { clientAddress, isIn, parseRanges } from '../../http/address.ts'
import { MAX_LARGE_BODY_BYTES } from '../../http/bodies/body.ts'
import type { ApiName, Bindings } from '../../http/env.ts'
import type { HostRule, HostVerdict } from '../../http/hosts.ts'
import { type AgentProxy, createSockets } from '../agent-proxy.ts'
import type { App } from '../app.ts'
import type { ForwardedRequest } from '../cluster/forwarded.ts'
import type { ClusterRouter } from '../cluster/router.ts'

type ListenOptions = {
  host: string
  ports: Record<ApiName, number>
  trustedProxies: readonly string[]
  /** Decides which Host headers every listener accepts. */
  judgeHost: HostRule
  /** Called with each rejected Host header. */
  noteMisdirected: (host: string) => void
}

/**
 * The app, and the proxy to agents that answers on the web port by Host header. `router` decides which node of a cluster
 * answers; null for a single node.
 */
export type ServedApps = {
  app: Pick<App, 'fetch'>
  agentProxy: Pick<AgentProxy, 'agentOf' | 'answer'>
  router: ClusterRouter | null
}

export type Listeners = {
  ports: Record<ApiName, number>
  /** Addresses for users; `localUrls` always lead to this machine. */
  urls: Record<ApiName, string>
  localUrls: Record<ApiName, string>
  /**
   * Opens an extra listener at `host` on the first free one of `ports`, which serves only `/v1/` of the backend API,
   * for agents in containers that cannot reach the others.
   * @throws AppError `internal` when that fails.
   */
  listenForAgents(host: string, ports: readonly number[]): number
  /** Counts requests per API; extra listeners for agents count as no API. */
  countUnderWay(): Record<ApiName, UnderWay>
  /** Refuses new connections and waits for requests under way, at most 10 s. */
  stop(): Promise<void>
}

const API_NAMES = ['web', 'backend', 'summarizer'] as const
/**
 * The app rejects large bodies with 413 in the form of the route. Bun answers without a body above this bound, which
 * is that of the Anthropic API.
 */
const MAX_BODY_BYTES = 4 * MAX_LARGE_BODY_BYTES
/**
 * Fits every cookie a browser keeps for one domain: 180 of 4 KB. An agent's page can set that many on the parent
 * domain, and a 431 response would lock the visitor out of the dashboard.
 */
const MAX_HEADER_BYTES = 800 * 1024
/** Idle limit for slow headers and bodies. Handlers raise it. */
const IDLE_SECONDS = 10
const HANDLER_SECONDS = 180
const DRAIN_MS = 10_000

/**
 * Binds the three ports before anything starts, so that a taken port is found early. Requests get 503 until `getServer`
 * returns one.
 * @throws StartupError naming the setting of a taken port.
 */
export function listen(getServer: () => ServedApps | null, options: ListenOptions): Listeners {
  // Bun's types declare it constant, but Bun.serve reads it for every request.
  Object.assign(http, { maxHeaderSize: MAX_HEADER_BYTES })
  const stopping = new AbortController()
  const agentListeners: Listener[] = []
  const apiListeners: Partial<Record<ApiName, Listener>> = {}
  const allListeners = () => [...Object.values(apiListeners), ...agentListeners]
  try {
    for (const api of API_NAMES) {
      const place = { api, host: options.host }
      apiListeners[api] = toListener(
        listenOn(getServer, { ...place, port: options.ports[api] }, options, stopping.signal),
      )
    }
  } catch (error) {
    for (const listener of allListeners()) void listener.end()
    throw error
  }
  const ports = mapApis((api) => apiListeners[api]?.port ?? 0)
  const shownHost =
    options.host === '127.0.0.1' || options.host === '0.0.0.0' || options.host === '::' ? 'localhost' : options.host
  const localHost = options.host === '0.0.0.0' || options.host === '::' ? '127.0.0.1' : options.host
  return {
    ports,
    urls: mapApis((api) => `http://${shownHost}:${ports[api]}`),
    localUrls: mapApis((api) => `http://${localHost}:${ports[api]}`),
    listenForAgents(host, wantedPorts) {
      const place = { api: 'backend', host, onlyBelow: '/v1/' } as const
      const listenAt = (port: number) =>
        listenOn(getServer, { ...place, port }, { ...options, trustedProxies: [] }, stopping.signal)
      const listener = toListener(firstFree(wantedPorts, listenAt))
      agentListeners.push(listener)
      return listener.port
    },
    countUnderWay: () => mapApis((api) => apiListeners[api]?.countUnderWay() ?? { requests: 0, webSockets: 0 }),
    async stop() {
      stopping.abort()
      // Agents in a turn still call the backend, so their listener closes after the turns.
      const drained = Promise.all([apiListeners.web?.stop(), apiListeners.summarizer?.stop()]).then(async () => {
        await Promise.all([apiListeners.backend?.stop(), ...agentListeners.map((listener) => listener.stop())])
      })
      await Promise.race([drained, Bun.sleep(DRAIN_MS)])
      await Promise.all(allListeners().map((listener) => listener.end()))
    },
  }
}

/** With `onlyBelow` all other paths return 404. */
type Place = { api: ApiName; host: string; port: number; onlyBelow?: string }

function listenOn(
  getServer: () => ServedApps | null,
  { api, host, port, onlyBelow }: Place,
  { trustedProxies, judgeHost, noteMisdirected }: Omit<ListenOptions, 'host' | 'ports'>,
  stopping: AbortSignal,
): Bun.Server<SocketHandler> {
  const { addressOf, toProxyClient } = createClientReader(trustedProxies)
  try {
    return Bun.serve({
      hostname: host,
      port,
      idleTimeout: IDLE_SECONDS,
      maxRequestBodySize: MAX_BODY_BYTES,
      // Otherwise Bun shows stack traces in its error page, and on stderr when an agent aborts a response.
      development: false,
      // In production mode Bun would share a taken port without an error.
      reusePort: false,
      websocket: createSockets(stopping),
      fetch(received, server) {
        const hostHeader = received.headers.get('host')
        const verdict = judgeHost(hostHeader)
        if (verdict !== 'served') return refuseHost(verdict, hostHeader, noteMisdirected)
        const request = hostHeader === null ? named(received) : received
        const installation = getServer()
        if (!installation) return answerWhileStarting(request)
        // Parsed as the app parses it, so that no spelling bypasses the check.
        if (onlyBelow !== undefined && !getPath(request).startsWith(onlyBelow))
          return Response.json({ error: 'Not found' }, { status: 404 })
        const serve = (served: Request, as: ForwardedRequest) => {
          const agent = as.api === 'web' ? installation.agentProxy.agentOf(as.host) : null
          if (agent) {
            const client = toProxyClient(received, server)
            const from = { server, client: { ...client, address: as.address }, stopping }
            return installation.agentProxy.answer(served, agent, from)
          }
          if (served.method !== 'GET') server.timeout(received, HANDLER_SECONDS)
          return fetchApp(installation.app, served, {
            api: as.api,
            // Computed on demand: it costs as much as routing.
            get address() {
              return as.address
            },
            upgrade: (data) => server.upgrade(received, { data }),
            keepOpen: (_request: Request, stalledSeconds = 0) => server.timeout(received, stalledSeconds),
            stopping,
          })
        }
        const own = {
          api,
          host: hostHeader,
          get address() {
            return addressOf(received, server)
          },
        }
        const answer = installation.router
          ? installation.router.answer({
              request,
              ...{ api, host: hostHeader, server, serve },
              address: () => own.address,
              keepOpen: () => server.timeout(received, 0),
            })
          : serve(request, own)
        return answer instanceof Response
          ? closeWhenStopping(answer, stopping)
          : answer.then((response) => response && closeWhenStopping(response, stopping))
      },
    })
  } catch (error) {
    throw toListenError(error, host, port, `${api.toUpperCase()}_PORT`)
  }
}

/** Returns functions that find the client of a request behind trusted proxies. */
function createClientReader(trustedProxies: readonly string[]) {
  const trusted = parseRanges(trustedProxies)
  const addressOf = (request: Request, server: Bun.Server<SocketHandler>) => {
    const socketAddress = server.requestIP(request)?.address ?? null
    const forwardedFor = trusted.length > 0 ? request.headers.get('x-forwarded-for') : null
    return socketAddress && clientAddress(socketAddress, forwardedFor, trusted)
  }
  const toProxyClient = (request: Request, server: Bun.Server<SocketHandler>): ProxyClient => {
    const isProxied = isIn(server.requestIP(request)?.address ?? '', trusted)
    const isHttps = isProxied && request.headers.get('x-forwarded-proto') === 'https'
    return { address: addressOf(request, server), proto: isHttps ? 'https' : 'http' }
  }
  return { addressOf, toProxyClient }
}

/** Calls the app. Resolves to undefined when a route has made the connection a WebSocket. */
function fetchApp(
  app: Pick<App, 'fetch'>,
  request: Request,
  bindings: Bindings & Required<Pick<Bindings, 'upgrade'>>,
): Response | Promise<Response | undefined> {
  if (request.headers.get('upgrade')?.toLowerCase() !== 'websocket') return app.fetch(request, bindings)
  let isUpgraded = false
  const upgrade = (handler: SocketHandler) => {
    isUpgraded = bindings.upgrade(handler)
    return isUpgraded
  }
  const { api, address, stopping } = bindings
  const answered = Promise.resolve(app.fetch(request, { api, address, upgrade, ...(stopping && { stopping }) }))
  return answered.then((response) => (isUpgraded ? undefined : response))
}

/** Adds `connection: close` while the server stops, so that the client opens a new connection for its next request. */
function closeWhenStopping(answer: Response, stopping: AbortSignal): Response {
  if (!stopping.aborted) return answer
  const { status, statusText, body } = answer
  const headers = new Headers(answer.headers)
  headers.set('connection', 'close')
  return new Response(body, { status, statusText, headers })
}

/** Liveness succeeds during the start; readiness does not. */
function answerWhileStarting(request: Request): Response {
  if (getPath(request) === '/healthz') return Response.json({ status: 'ok' })
  return Response.json({ error: 'Starting' }, { status: 503, headers: { 'retry-after': '1' } })
}

/** An HTTP/1.0 request may have no host; its URL is then only a path. */
function named(request: Request): Request {
  const path = request.url.startsWith('/') ? request.url : '/'
  const { method, headers, body, signal } = request
  return new Request(`http://localhost${path}`, { method, headers, body, signal })
}

/** The response does not reveal which host names are served. */
function refuseHost(verdict: HostVerdict, host: string | null, note: (host: string) => void): Response {
  const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
  if (verdict === 'doubled') return Response.json({ error: 'More than one Host header' }, { status: 400, headers })
  note(host ?? '')
  return Response.json({ error: 'Misdirected request' }, { status: 421, headers })
}

function firstFree<T>(ports: readonly number[], listenOn: (port: number) => T): T {
  let cause: unknown
  for (const port of ports) {
    try {
      return listenOn(port)
    } catch (error) {
      cause = error
    }
  }
  throw new AppError('internal', 'Agents have no way to reach the platform', {}, { cause })
}

function mapApis<T>(toValue: (api: ApiName) => T): Record<ApiName, T> {
  return { web: toValue('web'), backend: toValue('backend'), summarizer: toValue('summarizer') }
}

/** An open port. */
type Listener = {
  port: number
  countUnderWay(): UnderWay
  /** Stops accepting connections and waits for open requests, streams and WebSockets. */
  stop(): Promise<void>
  /** Closes every connection. */
  end(): Promise<void>
}

function toListener(server: Bun.Server<SocketHandler>): Listener {
  const port = server.port ?? 0
  return {
    port,
    countUnderWay: () => ({ requests: server.pendingRequests, webSockets: server.pendingWebSockets }),
    stop: () => server.stop(),
    end: () => server.stop(true),
  }
}
