import { getPath } from 'hono/utils/url'
import { closeTunnel, openTunnel, toSocketHandler, toUpgradeHeaders } from '../../adapters/gateways/tunnel.ts'
import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { SocketHandler } from '../../core/web-socket.ts'
import type { ApiName } from '../../http/env.ts'
import { createForwardedHeader, type ForwardedRequest } from './forwarded.ts'
import type { ClusterNode } from './node.ts'

/** Header and cookie with the log entry that a client's last write is part of. */
const POSITION_HEADER = 'x-stead-position'
const POSITION_COOKIE = 'stead_position'
/** How long a read waits until this node has applied the client's last write. */
const WAIT_MS = 1000
/** A client that reads from another node within this time sees its own write. */
const COOKIE_SECONDS = 60

/** A request as a listener received it. */
export type ReceivedRequest = {
  request: Request
  api: ApiName
  host: string | null
  address(): string | null
  server: Bun.Server<SocketHandler>
  /** Lifts the limit of idle time, which the leader applies to what it is forwarded. */
  keepOpen(): void
  /** Answers the request with this process's own services. */
  serve(request: Request, as: ForwardedRequest): Response | undefined | Promise<Response | undefined>
}

/** Decides which node of the cluster answers a request. */
export type ClusterRouter = { answer(received: ReceivedRequest): Promise<Response | undefined> }

/**
 * Creates the router of this node. A follower answers reads itself, and forwards everything else, and reads that only the
 * leader can answer, to the leader's backend port.
 */
export function createClusterRouter(node: ClusterNode, key: Buffer, log: Log): ClusterRouter {
  const header = createForwardedHeader(key)

  const serveHere = async (received: ReceivedRequest): Promise<Response | undefined> => {
    const { request, api, host, serve } = received
    const target = targetOf(request)
    if (!header.isPresent(request.headers)) return serve(request, { api, host, address: received.address() })
    const headers = new Headers(request.headers)
    const forwarded = header.take(headers, target)
    if (!forwarded) return serve(withHeaders(request, headers), { api, host, address: received.address() })
    if (forwarded.host === null) headers.delete('host')
    else headers.set('host', forwarded.host)
    return serve(withHeaders(request, headers), forwarded)
  }

  const forward = async (received: ReceivedRequest, leaderUrl: string): Promise<Response | undefined> => {
    const { request, api, host } = received
    const headers = new Headers(request.headers)
    header.add(headers, { api, host, address: received.address() }, targetOf(request))
    headers.delete('host')
    const { pathname, search } = new URL(request.url)
    if (isWebSocket(request)) return tunnel(received, headers, leaderUrl)
    received.keepOpen()
    try {
      return await fetch(`${leaderUrl}${pathname}${search}`, {
        method: request.method,
        headers,
        body: request.body,
        signal: request.signal,
        redirect: 'manual',
        decompress: false,
      })
    } catch (error) {
      if (!request.signal.aborted)
        log.warn({ error: errorMessage(error) }, 'the leader of the cluster cannot be reached')
      return unavailable('The leader of the cluster cannot be reached.', request.method === 'GET' || isUnsent(error))
    }
  }

  const tunnel = async ({ request, server }: ReceivedRequest, headers: Headers, leaderUrl: string) => {
    const opened = await openTunnel(withHeaders(request, headers), leaderUrl, null).catch(() => null)
    if (!opened) return unavailable('The leader of the cluster cannot be reached.', true)
    if (server.upgrade(request, { data: toSocketHandler(opened), headers: toUpgradeHeaders(opened) })) return undefined
    closeTunnel(opened)
    return Response.json({ error: 'Not a WebSocket handshake' }, { status: 400 })
  }

  const lead = async (received: ReceivedRequest) => {
    const answer = await serveHere(received)
    if (answer && !isRead(received.request)) notePosition(answer, node.position(), received.request)
    return answer
  }

  const follow = async (received: ReceivedRequest): Promise<Response | undefined> => {
    const { request } = received
    // A second hop could go on for ever.
    if (header.isPresent(request.headers)) return unavailable('This node of the cluster does not write.', true)
    const path = getPath(request)
    const leaderUrl = node.leaderUrl()
    if (path === '/healthz') return Response.json({ status: 'ok' })
    if (path === '/readyz') return leaderUrl ? Response.json({ status: 'ok' }) : unavailable('No leader', true)
    const isReadable = isRead(request) && !isWebSocket(request) && !isOfLeader(path) && node.canRead()
    if (isReadable && (await node.waitFor(wantedPosition(request), WAIT_MS))) {
      const answer = await serveHere(received)
      if (answer?.status !== 503 || !leaderUrl) return answer
      await answer.body?.cancel()
    }
    if (leaderUrl) return forward(received, leaderUrl)
    return path === '/health' ? serveHere(received) : unavailable('The cluster has no leader at the moment.', true)
  }

  return {
    answer: (received) => (node.role() === 'leader' ? lead(received) : follow(received)),
  }
}

function targetOf(request: Request): string {
  return `${request.method} ${getPath(request)}`
}

function withHeaders(request: Request, headers: Headers): Request {
  return new Request(request, { headers })
}

function isRead({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD'
}

function isWebSocket({ headers }: Request): boolean {
  return headers.get('upgrade')?.toLowerCase() === 'websocket'
}

/** A sign-in ends with a GET that writes, and only the leader knows whether agents can run. */
function isOfLeader(path: string): boolean {
  return path.endsWith('/callback') || path === '/health'
}

/** Returns whether the connection failed, so that the leader received nothing. */
function isUnsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(ECONNREFUSED|ConnectionRefused)$/.test(String(error.code))
}

/** Returns the entry that the client has to see; 0 when it wrote nothing. */
function wantedPosition({ headers }: Request): number {
  const cookie = new Bun.CookieMap(headers.get('cookie') ?? '').get(POSITION_COOKIE)
  const wanted = Number(headers.get(POSITION_HEADER) ?? cookie ?? 0)
  return Number.isSafeInteger(wanted) && wanted > 0 ? wanted : 0
}

function notePosition(answer: Response, position: number, request: Request): void {
  answer.headers.set(POSITION_HEADER, String(position))
  if (!request.headers.has('cookie') && !answer.headers.has('set-cookie')) return
  const cookie = `${POSITION_COOKIE}=${position}; Path=/; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Lax`
  answer.headers.append('set-cookie', cookie)
}

/** With `isRetryable` nothing was done. */
function unavailable(error: string, isRetryable: boolean): Response {
  const headers = { 'cache-control': 'no-store', ...(isRetryable && { 'retry-after': '1' }) }
  return Response.json({ error }, { status: 503, headers })
}
