import { forward, type ProxyClient, type ProxyTimeouts } from '../adapters/gateways/proxy.ts'
import {
  closeTunnel,
  createTunnelHandlers,
  openTunnel,
  type Tunnel,
  toUpgradeHeaders,
} from '../adapters/gateways/tunnel.ts'
import { AppError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { inRequest, REQUEST_ID_HEADER, toRequestId } from '../core/request-id.ts'
import type { Sealer } from '../core/secrets.ts'
import type { Db } from '../db/open.ts'
import { type AdmitDeps, admit, createGatewayFinder, createHostReader } from '../features/agents/proxy/ingress.ts'
import { addressKey } from '../http/address.ts'
import type { Bodies } from '../http/bodies/unfinished.ts'
import { describeFailure, statusOf, summarize, toAppError } from '../http/errors.ts'
import { STANDBY_REASON } from './standby.ts'

/** Where a request came in; `stopping` ends the subscriptions that would never end. */
export type ReachCaller = { server: Bun.Server<Tunnel>; client: ProxyClient; stopping: AbortSignal }

export type AgentProxy = {
  /** The agent that a request to the web port is for by its Host header; null for the web app itself. */
  agentOf(host: string | null): { id: string } | null
  /** Passes the request on to that agent. Undefined once it has become a WebSocket. Never throws. */
  answer(request: Request, agent: { id: string }, from: ReachCaller): Promise<Response | undefined>
}

/** A little longer than a body may take. */
const BODY_SECONDS = 40
/** As much of a body as the server reads ahead of an agent that takes its time. */
const AHEAD_BYTES = 1024 * 1024

type AgentProxyDeps = {
  db: Db
  sealer: Sealer
  log: Log
  bodies: Bodies
  addresses: { agentsDomain: string }
  isStandby: boolean
  activity: AdmitDeps['activity']
  wake: AdmitDeps['wake']
  timeouts?: ProxyTimeouts
}

/**
 * Agents at `<agent_id>.<AGENTS_DOMAIN>` (Interface 2). Their gateways check who calls by their own token; here nothing is
 * added to a request but where it came from, and one that sleeps is woken for whoever has that token.
 */
export function createAgentProxy(deps: AgentProxyDeps): AgentProxy {
  const readHost = createHostReader(deps.addresses.agentsDomain)
  const findGateway = createGatewayFinder(deps)

  const passOn = async (request: Request, id: string, { server, client, stopping }: ReachCaller) => {
    if (deps.isStandby) throw new AppError('unavailable', STANDBY_REASON)
    const keepOpen = () => server.timeout(request, 0)
    // What comes of a body after the answer must not hold the connection for ever.
    if (request.body) server.timeout(request, BODY_SECONDS)
    else keepOpen()
    const { gateway, release } = await admit({ ...deps, findGateway }, id, request)
    const told = gateway.kind === 'openclaw' ? null : client
    try {
      if (isWebSocket(request)) {
        const tunnel = await openTunnel(request, gateway.baseUrl, told)
        tunnel.agent.addEventListener('close', release)
        return upgrade(request, server, tunnel)
      }
      const ending = isSubscription(request) ? AbortSignal.any([request.signal, stopping]) : request.signal
      const share = takeBodyShare(deps.bodies, request, client)
      const events = { onWhole: keepOpen, onOver: share.close, onAnswered: release }
      return await forward(request, gateway.baseUrl, told, ending, events, deps.timeouts)
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

/** Nobody is known here: all callers share what strangers may send at once. @throws AppError `unavailable` beyond that. */
function takeBodyShare(bodies: Bodies, request: Request, { address }: ProxyClient): { close(): void } {
  const share = bodies.beginBody({ key: addressKey(address), isKnown: false })
  const length = request.headers.get('content-length')
  if (request.body) share.add(length === null ? AHEAD_BYTES : Math.min(Number(length), AHEAD_BYTES))
  return share
}

/** The WebSockets of agents; they end with `stopping`, because nothing else would end them. */
export function createTunnels(stopping: AbortSignal): Bun.WebSocketHandler<Tunnel> {
  const open = new Set<Bun.ServerWebSocket<Tunnel>>()
  stopping.addEventListener('abort', () => {
    for (const socket of open) socket.close(1001, 'The service is stopping')
  })
  return createTunnelHandlers(open)
}

function upgrade(request: Request, server: Bun.Server<Tunnel>, tunnel: Tunnel): Response | undefined {
  if (server.upgrade(request, { data: tunnel, headers: toUpgradeHeaders(tunnel) })) return undefined
  closeTunnel(tunnel)
  throw new AppError('invalid', 'Not a WebSocket handshake')
}

function isWebSocket(request: Request): boolean {
  return request.method === 'GET' && request.headers.get('upgrade')?.toLowerCase() === 'websocket'
}

/** As browsers ask for a stream of events: unlike an answer it does not end by itself. */
function isSubscription(request: Request): boolean {
  return request.method === 'GET' && request.headers.get('accept')?.includes('text/event-stream') === true
}

/** A caller who leaves breaks the connection to the agent, which says nothing of the agent. */
function logFailure(log: Log, error: unknown, about: { requestId: string; agentId: string; hasCallerLeft: boolean }) {
  const known = toAppError(error)
  if (statusOf(known.kind) < 500 || known.kind === 'unavailable') return
  const { hasCallerLeft, ...what } = about
  if (hasCallerLeft) log.info({ ...what, error: summarize(error) }, 'the caller left before the answer')
  else
    log.warn({ ...what, error: known.kind === 'internal' ? describeFailure(error) : summarize(error) }, known.message)
}

function toResponse(error: unknown): Response {
  const known = toAppError(error)
  const headers = {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(known.kind === 'too_slow' && { connection: 'close' }),
    ...(typeof known.extra.retryAfter === 'string' && { connection: 'close', 'retry-after': known.extra.retryAfter }),
  }
  return Response.json({ error: known.message }, { status: statusOf(known.kind), headers })
}
