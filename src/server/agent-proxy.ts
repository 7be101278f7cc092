import { forward, type ProxyClient, type ProxyTimeouts } from '../adapters/gateways/proxy.ts'
import {
  closeTunnel,
  createSocketHandlers,
  openTunnel,
  type Tunnel,
  toSocketHandler,
  toUpgradeHeaders,
} from '../adapters/gateways/tunnel.ts'
import { AppError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { inRequest, REQUEST_ID_HEADER, toRequestId } from '../core/request-id.ts'
import type { Sealer } from '../core/secrets.ts'
import type { ServerSocket, SocketHandler } from '../core/web-socket.ts'
import type { Db } from '../db/open.ts'
import { admit, createGatewayFinder, createHostReader } from '../features/agents/proxy/ingress.ts'
import type { AgentActivity } from '../features/agents/sleep/sleep.ts'
import type { Wake } from '../features/agents/sleep/wake.ts'
import { addressKey } from '../http/address.ts'
import { MAX_LARGE_BODY_BYTES } from '../http/bodies/body.ts'
import type { Bodies } from '../http/bodies/unfinished.ts'
import { describeFailure, statusOf, summarizeError, toAppError } from '../http/errors.ts'
import { STANDBY_REASON } from './standby.ts'

/** Connection of a request; `stopping` ends subscriptions, which would otherwise never end. */
type AgentProxyCaller = { server: Bun.Server<SocketHandler>; client: ProxyClient; stopping: AbortSignal }

export type AgentProxy = {
  /** Returns the agent that the Host header addresses; null for the web app. */
  agentOf(host: string | null): { id: string } | null
  /** Forwards the request to the agent. Resolves to undefined after an upgrade to a WebSocket. Never rejects. */
  answer(request: Request, agent: { id: string }, from: AgentProxyCaller): Promise<Response | undefined>
}

/** Slightly longer than the time limit of a body. */
const BODY_SECONDS = 40
/** Bytes of a body that the server buffers while the agent is slow to read. */
const AHEAD_BYTES = 1024 * 1024

/**
 * Serves agents at `<agent_id>.<AGENTS_DOMAIN>`. Their gateways authenticate callers by the agent's token; the proxy
 * adds only forwarding headers and wakes a sleeping agent for a caller with a valid token.
 */
export function createAgentProxy(deps: {
  db: Db
  log: Log
  sealer: Sealer
  bodies: Bodies
  addresses: { agentsDomain: string }
  isStandby: boolean
  activity: AgentActivity
  wake: Wake
  timeouts?: ProxyTimeouts
}): AgentProxy {
  const readHost = createHostReader(deps.addresses.agentsDomain)
  const findGateway = createGatewayFinder(deps)

  const passOn = async (request: Request, id: string, { server, client, stopping }: AgentProxyCaller) => {
    if (deps.isStandby) throw new AppError('unavailable', STANDBY_REASON)
    const keepOpen = () => server.timeout(request, 0)
    // A body that arrives after the response must not keep the connection open.
    if (request.body) server.timeout(request, BODY_SECONDS)
    else keepOpen()
    const { gateway, release } = await admit({ ...deps, findGateway }, id, request)
    const forwardedFor = gateway.kind === 'openclaw' ? null : client
    try {
      if (isWebSocket(request)) {
        const tunnel = await openTunnel(request, gateway.baseUrl, forwardedFor)
        tunnel.agent.addEventListener('close', release)
        return upgrade(request, server, tunnel)
      }
      const ending = isSubscription(request) ? AbortSignal.any([request.signal, stopping]) : request.signal
      const share = takeBodyShare(deps.bodies, request, client)
      const events = { onWhole: keepOpen, onOver: share.close, onAnswered: release }
      return await forward(request, gateway.baseUrl, forwardedFor, ending, events, deps.timeouts)
    } catch (error) {
      release()
      throw error
    }
  }

  return {
    agentOf: readHost,
    async answer(request, { id }, from) {
      const requestId = toRequestId(request.headers.get(REQUEST_ID_HEADER))
      const response = await inRequest(requestId, () => passOn(request, id, from)).catch((error: unknown) => {
        const about = { requestId, agentId: id, hasCallerLeft: request.signal.aborted }
        logFailure(deps.log, error, about)
        return toResponse(error)
      })
      response?.headers.set(REQUEST_ID_HEADER, requestId)
      return response
    },
  }
}

/**
 * Charges the body to the caller's address: callers are not authenticated here.
 * @throws AppError `too_large` for a body over 8 MB, `unavailable` above the limit of the caller.
 */
function takeBodyShare(bodies: Bodies, request: Request, { address }: ProxyClient): { close(): void } {
  const length = request.headers.get('content-length')
  if (Number(length) > MAX_LARGE_BODY_BYTES) throw new AppError('too_large', 'Request body too large')
  const share = bodies.beginBody({ key: addressKey(address), isKnown: false })
  if (request.body) share.add(length === null ? AHEAD_BYTES : Math.min(Number(length), AHEAD_BYTES))
  return share
}

/** Handles WebSockets and closes them when `stopping` aborts. */
export function createSockets(stopping: AbortSignal): Bun.WebSocketHandler<SocketHandler> {
  const open = new Set<ServerSocket>()
  stopping.addEventListener('abort', () => {
    for (const socket of open) socket.close(1001, 'The service is stopping')
  })
  return createSocketHandlers(open)
}

function upgrade(request: Request, server: Bun.Server<SocketHandler>, tunnel: Tunnel): Response | undefined {
  if (server.upgrade(request, { data: toSocketHandler(tunnel), headers: toUpgradeHeaders(tunnel) })) return undefined
  closeTunnel(tunnel)
  throw new AppError('invalid', 'Not a WebSocket handshake')
}

function isWebSocket(request: Request): boolean {
  return request.method === 'GET' && request.headers.get('upgrade')?.toLowerCase() === 'websocket'
}

/** Returns whether the request opens an event stream, which does not end by itself. */
function isSubscription(request: Request): boolean {
  return request.method === 'GET' && request.headers.get('accept')?.includes('text/event-stream') === true
}

/** A caller that disconnects breaks the connection to the agent; this is no fault of the agent. */
function logFailure(log: Log, error: unknown, about: { requestId: string; agentId: string; hasCallerLeft: boolean }) {
  const known = toAppError(error)
  if (statusOf(known.kind) < 500 || known.kind === 'unavailable') return
  const { hasCallerLeft, ...what } = about
  if (hasCallerLeft) log.info({ ...what, error: summarizeError(error) }, 'the caller left before the answer')
  else
    log.warn(
      { ...what, error: known.kind === 'internal' ? describeFailure(error) : summarizeError(error) },
      known.message,
    )
}

function toResponse(error: unknown): Response {
  const known = toAppError(error)
  const headers = {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...((known.kind === 'too_slow' || known.kind === 'too_large') && { connection: 'close' }),
    ...(typeof known.extra.retryAfter === 'string' && { connection: 'close', 'retry-after': known.extra.retryAfter }),
  }
  return Response.json({ error: known.message }, { status: statusOf(known.kind), headers })
}
