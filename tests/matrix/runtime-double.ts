import {
  type AgentState,
  type Inspection,
  portTaken,
  type Runtime,
  type RuntimeStats,
} from '../../src/adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../src/adapters/runtimes/contract/runtimes.ts'
import { findFreePorts } from '../harness/ports.ts'

/** Reply of every agent. */
export const REPLY = 'Good morning'

/** A messenger user who waits for the owner's approval. */
const STRANGER = { id: '66', name: 'Eve' }
const CHANNEL = {
  name: 'telegram',
  connected: true,
  since: null,
  account: null,
  lastError: null,
  people: [],
  pairings: [{ ...STRANGER, code: 'ABCD2345', expiresAt: '2030-01-01T00:00:00.000Z' }],
}

const STATS: RuntimeStats = {
  cpuPercent: 1,
  memoryBytes: 2 ** 26,
  memoryLimitBytes: 2 ** 30,
  processes: 1,
  uptimeMs: 1000,
  networkInBytes: null,
  networkOutBytes: null,
  diskReadBytes: null,
  diskWriteBytes: null,
}

/** Starts a runtime whose agents are HTTP servers: each is live immediately and replies `REPLY`. */
export function startRuntimeDouble() {
  const servers = new Map<number, ReturnType<typeof listen>>()
  const listen = (port: number) => Bun.serve({ hostname: '127.0.0.1', port, fetch: answer })
  const openServer = (port: number) => {
    const server = listen(port)
    servers.set(server.port ?? 0, server)
    return server.port ?? 0
  }
  const placed = new Map<string, { port: number; state: AgentState }>()
  const end = async (id: string) => {
    const agent = placed.get(id)
    if (!agent) return
    placed.set(id, { ...agent, state: 'stopped' })
    await servers.get(agent.port)?.stop(true)
    servers.delete(agent.port)
  }
  const start = (id: string, port: number) => {
    try {
      if (!servers.has(port)) openServer(port)
      placed.set(id, { port, state: 'running' })
    } catch {
      throw portTaken(port)
    }
  }
  const runtime: Runtime = {
    ...createNoRuntime('process', 'No test asks for this'),
    deploy: async ({ id, port }) => start(id, port),
    start: async (id) => start(id, placed.get(id)?.port ?? 0),
    stop: end,
    kill: end,
    remove: end,
    snapshot: async (_id, file) => {
      await Bun.write(file, 'the files of an agent')
    },
    inspect: async (id) => toInspection(id, placed.get(id)),
    logs: async () => [],
    stats: async () => STATS,
    list: async () => [...placed].flatMap(([id, agent]) => toInspection(id, agent) ?? []),
    isAvailable: async () => true,
  }
  return {
    runtime,
    /** Starts the agents of the users and returns their ports, which stay the same after a restart. */
    runForPeople: async () => {
      const [owner, stranger, admin, closed] = (await findFreePorts(4)).map(openServer)
      return { owner: owner ?? 0, stranger: stranger ?? 0, admin: admin ?? 0, closed: closed ?? 0 }
    },
    [Symbol.dispose]: () => {
      for (const server of servers.values()) void server.stop(true)
    },
  }
}

function toInspection(id: string, placed: { port: number; state: AgentState } | undefined): Inspection | null {
  const unknown = { image: null, version: null, startedAt: null, exitCode: null, isOutOfMemory: false, restarts: 0 }
  return placed ? { ...unknown, ...placed, id, kind: 'stead', host: '127.0.0.1' } : null
}

function answer(request: Request): Response {
  const { pathname } = new URL(request.url)
  if (pathname === '/memory') return Response.json({ ok: true })
  if (pathname === '/channels') return Response.json({ channels: [CHANNEL] })
  if (pathname.startsWith('/channels/')) return Response.json({ ok: true, ...STRANGER })
  if (pathname === '/sessions') return Response.json({ sessions: [] })
  if (pathname.startsWith('/sessions/')) return Response.json({ items: [{ role: 'user', content: 'Hi' }] })
  if (pathname === '/instructions') return Response.json({ ok: true, text: null })
  if (pathname === '/healthz') return Response.json({ ok: true, status: 'live' })
  if (pathname !== '/v1/chat/completions') return new Response('Not found', { status: 404 })
  const chunk = { choices: [{ index: 0, delta: { content: REPLY }, finish_reason: 'stop' }] }
  return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, {
    headers: { 'content-type': 'text/event-stream' },
  })
}
