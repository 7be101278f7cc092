import { AppError } from '../../core/errors.ts'
import type { ServerSocket, SocketHandler } from '../../core/web-socket.ts'
import { type ProxyClient, toAgentHeaders } from './proxy.ts'

const CONNECT_MS = 10_000
/** Above OpenClaw's limit of 25 MiB per message. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024
/** Bytes buffered for a slow side; beyond them both are closed. */
const MAX_UNSENT_BYTES = 32 * 1024 * 1024
/** Maximum messages of one side per turn of the event loop; more would block it. Beyond it both sides are closed. */
const MAX_MESSAGES_A_TURN = 5000
/** Close codes without a close frame, which must not be sent (RFC 6455, section 7.4.1). */
const NO_CODE = 1005
const BROKEN = 1006
const TOO_SLOW = 1013

type Message = string | Buffer

/** A WebSocket to an agent, and its messages until the caller's socket is open. */
export type Tunnel = {
  agent: WebSocket
  early: Message[]
  earlyBytes: number
  ended: Ended | null
  /** Called for each message of a side; returns whether it exceeds the rate limit. */
  isAgentFlooding: () => boolean
  isClientFlooding: () => boolean
}
type Ended = { code: number; reason: string }

/**
 * Opens a WebSocket to the agent at `baseUrl` with the caller's subprotocols.
 * @throws AppError `upstream_failed` when the agent refuses, `upstream_timeout`.
 */
export async function openTunnel(request: Request, baseUrl: string, client: ProxyClient | null): Promise<Tunnel> {
  const { pathname, search } = new URL(request.url)
  const agent = new WebSocket(`${baseUrl.replace(/^http/, 'ws')}${pathname}${search}`, {
    headers: toHandshakeHeaders(request.headers, client),
    protocols: listProtocols(request.headers),
    perMessageDeflate: false,
  })
  agent.binaryType = 'nodebuffer'
  const meters = { isAgentFlooding: createTurnMeter(), isClientFlooding: createTurnMeter() }
  const tunnel: Tunnel = { agent, early: [], earlyBytes: 0, ended: null, ...meters }
  agent.onmessage = ({ data }) => {
    if (tunnel.isAgentFlooding()) agent.terminate()
    else keepEarly(tunnel, data)
  }
  agent.onclose = ({ code, reason }) => {
    tunnel.ended = { code, reason }
  }
  await whenOpen(agent, request.signal)
  return tunnel
}

/** Returns the agent's chosen subprotocol as a response header. */
export function toUpgradeHeaders({ agent }: Tunnel): Record<string, string> {
  return agent.protocol ? { 'sec-websocket-protocol': agent.protocol } : {}
}

/** Handles the WebSockets of clients with the handler of each. `open` holds the open ones. */
export function createSocketHandlers(open: Set<ServerSocket>): Bun.WebSocketHandler<SocketHandler> {
  return {
    maxPayloadLength: MAX_MESSAGE_BYTES,
    backpressureLimit: MAX_UNSENT_BYTES,
    closeOnBackpressureLimit: true,
    open(client) {
      open.add(client)
      client.data.open(client)
    },
    message: (client, message) => client.data.message(client, message),
    close(client, code, reason) {
      open.delete(client)
      client.data.close(client, code, reason)
    },
  }
}

/** Connects the caller's WebSocket with the agent's. */
export function toSocketHandler(tunnel: Tunnel): SocketHandler {
  const { agent, isClientFlooding } = tunnel
  return {
    open: (client) => join(client, tunnel),
    message(client, message) {
      if (isClientFlooding()) return client.terminate()
      agent.send(message)
      if (agent.bufferedAmount > MAX_UNSENT_BYTES) agent.terminate()
    },
    close: (_client, code, reason) => end(agent, { code, reason }),
  }
}

/** Closes a tunnel whose caller left before their WebSocket was open. */
export function closeTunnel({ agent }: Tunnel): void {
  agent.terminate()
}

function join(client: ServerSocket, tunnel: Tunnel): void {
  const { agent } = tunnel
  for (const message of tunnel.early.splice(0)) client.send(message)
  agent.onmessage = ({ data }) => {
    if (tunnel.isAgentFlooding()) agent.terminate()
    else client.send(data)
  }
  agent.onclose = ({ code, reason }) => end(client, { code, reason })
  if (tunnel.ended) end(client, tunnel.ended)
}

function createTurnMeter(): () => boolean {
  let count = 0
  return () => {
    if (count === 0) setImmediate(() => (count = 0))
    return ++count > MAX_MESSAGES_A_TURN
  }
}

function keepEarly(tunnel: Tunnel, message: Message): void {
  tunnel.early.push(message)
  tunnel.earlyBytes += message.length
  if (tunnel.earlyBytes > MAX_UNSENT_BYTES) tunnel.agent.close(TOO_SLOW)
}

/** Closes one side like the other: with its code and reason, or abruptly. */
function end(socket: ServerSocket | WebSocket, { code, reason }: Ended): void {
  if (code === BROKEN) socket.terminate()
  else if (code === NO_CODE) socket.close()
  else socket.close(code, reason)
}

async function whenOpen(agent: WebSocket, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const fail = (error: AppError) => {
    reject(error)
    agent.terminate()
  }
  const leave = () => fail(new AppError('upstream_failed', 'The caller left'))
  const timer = setTimeout(() => fail(new AppError('upstream_timeout', 'The agent did not answer in time')), CONNECT_MS)
  agent.addEventListener('open', () => resolve(), { once: true })
  agent.addEventListener('error', () => reject(new AppError('upstream_failed', 'The agent refused the WebSocket')), {
    once: true,
  })
  signal.addEventListener('abort', leave, { once: true })
  try {
    await promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
}

/** Removes handshake headers, which the WebSocket client sets itself. */
function toHandshakeHeaders(given: Headers, client: ProxyClient | null): Record<string, string> {
  const headers = toAgentHeaders(given, client)
  for (const name of [...headers.keys()]) if (name.startsWith('sec-websocket-')) headers.delete(name)
  return Object.fromEntries(headers)
}

function listProtocols(headers: Headers): string[] {
  const given = headers.get('sec-websocket-protocol') ?? ''
  return given
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
}
