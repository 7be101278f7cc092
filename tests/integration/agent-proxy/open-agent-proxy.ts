import { eq } from 'drizzle-orm'
import type { ProxyTimeouts } from '../../../src/adapters/gateways/proxy.ts'
import { write } from '../../../src/db/write.ts'
import { insertAgent } from '../../../src/features/agents/registry/agents.ts'
import { type AgentRow, agents } from '../../../src/features/agents/registry/tables.ts'
import { createAgentProxy } from '../../../src/server/agent-proxy.ts'
import { createMisdirectedNote, hostRuleOf } from '../../../src/server/listeners/hosts.ts'
import { type Listeners, listen } from '../../../src/server/listeners/listen.ts'
import { testPlatform } from '../../harness/platform.ts'

/** Starts a platform on real ports; the test provides the agents' servers. */
export async function openAgentProxy(
  options: {
    trustedProxies?: string[]
    domain?: string
    environment?: Record<string, string>
    timeouts?: ProxyTimeouts
  } = {},
) {
  const domain = options.domain ?? 'localhost'
  const { platform, app, config, logLines } = testPlatform({ environment: { DOMAIN: domain, ...options.environment } })
  const agentProxy = createAgentProxy({ ...platform, ...(options.timeouts && { timeouts: options.timeouts }) })
  const listeners: Listeners = listen(() => ({ app, agentProxy, router: null }), {
    host: '127.0.0.1',
    ports: { web: 0, backend: 0, summarizer: 0 },
    trustedProxies: options.trustedProxies ?? [],
    judgeHost: hostRuleOf(config),
    noteMisdirected: createMisdirectedNote(platform.log),
  })
  const host = (id: string) => `${id}.${config.agentsDomain}`
  return {
    platform,
    logLines,
    listeners,
    web: listeners.localUrls.web,
    host,
    /** Adds an agent that listens on `port`. */
    add: async (
      id: string,
      port: number | null,
      status: AgentRow['status'] = 'running',
      kind: AgentRow['kind'] = 'stead',
    ) => {
      await write(platform.db, (tx) => {
        const given = { name: id, model: 'solo', plan: 'label', aiProvider: 'openrouter', ownerId: null }
        insertAgent(platform, tx, { id, status, ...given })
        tx.update(agents).set({ port, kind }).where(eq(agents.id, id)).run()
      })
    },
    setStatus: (id: string, status: AgentRow['status']) =>
      write(platform.db, (tx) => tx.update(agents).set({ status }).where(eq(agents.id, id)).run()),
    /** Sends a request to the web port with the agent's Host header. */
    ask: (id: string, path: string, init: RequestInit = {}) =>
      fetch(`${listeners.localUrls.web}${path}`, {
        redirect: 'manual',
        ...init,
        headers: { host: host(id), ...Object.fromEntries(new Headers(init.headers)) },
      }),
    connect: (id: string, path: string, more: { protocols?: string[]; headers?: Record<string, string> } = {}) => {
      const socket = new WebSocket(`${listeners.localUrls.web.replace('http', 'ws')}${path}`, {
        headers: { ...more.headers, host: host(id) },
        ...(more.protocols && { protocols: more.protocols }),
      })
      socket.binaryType = 'nodebuffer'
      return socket
    },
    [Symbol.asyncDispose]: () => listeners.stop(),
  }
}

/** Starts an HTTP server that responds with `answer`. */
export function startAgentDouble(answer: (request: Request) => Response | Promise<Response>) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    maxRequestBodySize: 64 * 1024 * 1024,
    fetch: answer,
  })
  return { port: server.port ?? 0, [Symbol.dispose]: () => void server.stop(true) }
}

type Socket = Bun.ServerWebSocket<{ headers: Headers; path: string }>

/** Starts a WebSocket server with `handlers`; `socket.data` holds its handshake request. */
export function startSocketDouble(handlers: {
  open?: (socket: Socket) => void
  message?: (socket: Socket, message: string | Buffer) => void
  close?: (code: number, reason: string) => void
  protocol?: string
}) {
  const server = Bun.serve<{ headers: Headers; path: string }>({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request, self) {
      const { pathname, search } = new URL(request.url)
      if (pathname === '/refused') return new Response('No', { status: 401 })
      const headers: Record<string, string> = handlers.protocol ? { 'sec-websocket-protocol': handlers.protocol } : {}
      const data = { headers: new Headers(request.headers), path: `${pathname}${search}` }
      return self.upgrade(request, { data, headers }) ? undefined : new Response('No', { status: 400 })
    },
    websocket: {
      maxPayloadLength: 64 * 1024 * 1024,
      open: (socket) => handlers.open?.(socket),
      message: (socket, message) => handlers.message?.(socket, message),
      close: (_socket, code, reason) => handlers.close?.(code, reason),
    },
  })
  return { port: server.port ?? 0, [Symbol.dispose]: () => void server.stop(true) }
}
